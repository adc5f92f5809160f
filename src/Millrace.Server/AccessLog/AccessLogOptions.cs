namespace Millrace.Server.AccessLog;

/// <summary>Options of the access log.</summary>
internal sealed record AccessLogOptions
{
    /// <summary>A file's path, <c>-</c> for standard output, or <c>syslog</c>, optionally with a socket's path; null for none.</summary>
    public string? Destination { get; init; }

    /// <summary>The format of lines.</summary>
    public AccessLogFormat Format { get; init; } = AccessLogFormat.Combined;
}

/// <summary>The format of access log lines.</summary>
internal enum AccessLogFormat
{
    /// <summary>NCSA common: client, time, request line, status, bytes.</summary>
    Common,

    /// <summary>Common with Referer and User-Agent.</summary>
    Combined,

    /// <summary>One JSON object per line, with all fields.</summary>
    Json,
}
