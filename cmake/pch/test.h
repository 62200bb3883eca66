// Precompiled for every test binary: what the product's sources include, and GoogleTest.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "product.h"
