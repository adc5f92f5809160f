using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;

namespace Millrace.HttpServer;

/// <summary>The result of verifying a request's credentials, and the verifier that gave it; null if they were not verified.</summary>
internal readonly record struct AuthenticationResult(BasicAuthentication? Verifier, AccessDecision Decision);
