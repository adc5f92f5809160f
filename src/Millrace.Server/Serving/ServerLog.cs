using Microsoft.Extensions.Logging;

namespace Millrace.Server.Serving;

/// <summary>What the server logs of itself.</summary>
internal sealed partial class ServerLog(ILogger logger)
{
    [LoggerMessage(1, LogLevel.Information, "The configuration {Path} is in use: {Sites} sites on {Addresses}.")]
    public partial void ConfigurationAdopted(string path, int sites, string addresses);

    [LoggerMessage(2, LogLevel.Error, "The configuration in use stays, as the new one cannot be had: {Reason}")]
    public partial void ConfigurationKept(string reason);

    [LoggerMessage(3, LogLevel.Warning, "{Option} changes when the server is started again.")]
    public partial void NeedsRestart(string option);

    [LoggerMessage(4, LogLevel.Error, "Reading everything anew failed, and what was served still is.")]
    public partial void ReloadFailed(Exception fault);
}
