using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>The status codes that a plan chooses (RFC 9110, section 15); rules of the site may set others.</summary>
internal static class PlanStatus
{
    public const int Ok = 200;
    public const int NoContent = 204;
    public const int PartialContent = 206;
    public const int NotModified = 304;
    public const int PermanentRedirect = 308;
    public const int BadRequest = 400;
    public const int Unauthorized = 401;
    public const int NotFound = 404;
    public const int MethodNotAllowed = 405;
    public const int NotAcceptable = 406;
    public const int PreconditionFailed = 412;
    public const int UriTooLong = 414;
    public const int RangeNotSatisfiable = 416;
    public const int InternalServerError = 500;
    public const int NotImplemented = 501;
    public const int ServiceUnavailable = 503;

    /// <summary>The status for a planned file that cannot be opened now.</summary>
    public static int ForFailedOpen(BodyOpening opening) => opening == BodyOpening.Exhausted ? ServiceUnavailable : NotFound;
}
