#include "kube/api_error.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

using namespace std::chrono_literals;

Response response(int status, std::string body) {
  Response made;
  made.status = status;
  made.body = std::move(body);
  return made;
}

TEST(ApiError, T21_AStatusOverSeveralLines) {
  const ApiError error = error_of(response(403, R"({
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "widgets is forbidden: User \"u\" cannot watch",
  "reason": "Forbidden",
  "details": {"group": "example.com", "kind": "widgets", "name": "w"},
  "code": 403
}
)"));
  EXPECT_TRUE(error.is_forbidden());
  EXPECT_EQ(error.reason, "Forbidden");
  EXPECT_EQ(error.name, "w");
  EXPECT_EQ(error.to_string(), "403 Forbidden: widgets is forbidden: User \"u\" cannot watch");
}

TEST(ApiError, CausesAndRetryAfter) {
  const ApiError error = error_of(response(504, R"({"kind":"Status","reason":"Timeout","message":"m","code":504,
    "details":{"retryAfterSeconds":3,"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"},
    {"reason":"FieldValueInvalid","field":"spec.size","message":"no"}]}})"));
  EXPECT_TRUE(error.is_too_large_version());
  EXPECT_TRUE(error.is_server_error());
  EXPECT_EQ(error.retry_after, 3s);
  ASSERT_EQ(error.causes.size(), 2U);
  EXPECT_EQ(error.causes[1].field, "spec.size");
}

TEST(ApiError, TheHeaderWinsOverTheBody) {
  Response answer = response(429, R"({"kind":"Status","code":500,"details":{"retryAfterSeconds":3}})");
  answer.retry_after = 7s;
  const ApiError error = error_of(answer);
  EXPECT_TRUE(error.is_too_many_requests());
  EXPECT_EQ(error.retry_after, 7s);
}

TEST(ApiError, T18_TooLargeInTheOldDialect) {
  EXPECT_TRUE(
      error_of(response(504, R"({"kind":"Status","message":"Too large resource version: 9, current: 3","code":504})"))
          .is_too_large_version());
  EXPECT_FALSE(error_of(response(504, R"({"kind":"Status","message":"timed out","code":504})")).is_too_large_version());
}

TEST(ApiError, Predicates) {
  const auto of = [](int code, std::string reason) {
    ApiError error;
    error.code = code;
    error.reason = std::move(reason);
    return error;
  };
  EXPECT_TRUE(of(404, "NotFound").is_not_found());
  EXPECT_TRUE(of(409, "Conflict").is_conflict());
  EXPECT_FALSE(of(409, "Conflict").is_already_exists());
  EXPECT_TRUE(of(409, "AlreadyExists").is_already_exists());
  EXPECT_FALSE(of(409, "AlreadyExists").is_conflict());
  EXPECT_TRUE(of(410, "Expired").is_expired());
  EXPECT_TRUE(of(410, "Gone").is_expired());
  EXPECT_TRUE(of(422, "Invalid").is_invalid());
  EXPECT_TRUE(of(401, "Unauthorized").is_unauthorized());
  EXPECT_FALSE(of(422, "Invalid").is_transport());
}

TEST(ApiError, WhatIsNoStatusIsQuotedOnOneLine) {
  const ApiError error = error_of(response(502, "<html>\r\n  <b>Bad\tGateway</b>\n</html>\n"));
  EXPECT_EQ(error.to_string(), "502: <html> <b>Bad Gateway</b> </html>");
  EXPECT_LT(error_of(response(502, std::string(100000, 'x'))).message.size(), 300U);
  EXPECT_EQ(error_of(response(503, "")).to_string(), "503");
}

TEST(ApiError, T69_NoAnswerIsAKindOfItsOwn) {
  const ApiError error = error_of(TransportError{TransportError::Kind::connect, "connection refused", false});
  EXPECT_TRUE(error.is_transport());
  EXPECT_EQ(error.code, 0) << "never the code of an earlier answer";
  EXPECT_FALSE(error.sent);
  EXPECT_FALSE(error.is_not_found());
  EXPECT_FALSE(error.is_server_error());
  EXPECT_EQ(error.to_string(), "connect: connection refused");
}

TEST(ApiError, AnswersThatSucceededHaveNone) {
  EXPECT_FALSE(error_of(Answer(response(201, ""))));
  EXPECT_TRUE(error_of(Answer(response(301, ""))));
  EXPECT_TRUE(error_of(Answer(std::unexpected(TransportError{}))));
}

}  // namespace
}  // namespace kube
