import "./ip_test.js";
import "./parameters_test.js";
import "./model_test.js";
import "./layout_test.js";
import "./text_test.js";
import "./watch_test.js";
import { runAll } from "./harness.js";

runAll();
