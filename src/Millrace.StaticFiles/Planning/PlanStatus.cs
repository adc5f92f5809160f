namespace Millrace.StaticFiles.Planning;

/// <summary>The status codes a plan can decide on (RFC 9110, section 15).</summary>
internal enum PlanStatus
{
    Ok = 200,
    NoContent = 204,
    MovedPermanently = 301,
    NotFound = 404,
    MethodNotAllowed = 405,
    NotImplemented = 501,
}
