namespace Millrace.Server.AccessLog;

/// <summary>What the server was told of its access log.</summary>
internal sealed record AccessLogOptions
{
    /// <summary>A file's path, <c>-</c> for the standard output, or <c>syslog</c>, perhaps with a socket's path; null for none.</summary>
    public string? Destination { get; init; }

    /// <summary>How lines are written.</summary>
    public AccessLogFormat Format { get; init; } = AccessLogFormat.Combined;
}
