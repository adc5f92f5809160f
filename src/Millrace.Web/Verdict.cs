using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;

namespace Millrace.Web;

/// <summary>What became of a request's credentials, and who says so; nobody where they were not verified.</summary>
internal readonly record struct Verdict(BasicAuthentication? Judge, Admission Admission);
