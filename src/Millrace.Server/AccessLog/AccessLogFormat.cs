namespace Millrace.Server.AccessLog;

/// <summary>How a line of the access log is written.</summary>
internal enum AccessLogFormat
{
    /// <summary>NCSA's: client, time, request line, status, bytes.</summary>
    Common,

    /// <summary>The same with Referer and User-Agent.</summary>
    Combined,

    /// <summary>An object a line, with all that is known.</summary>
    Json,
}
