using Microsoft.Extensions.Logging;

namespace Millrace.Server.Serving;

/// <summary>Log messages of the server.</summary>
internal sealed partial class ServerLog(ILogger logger)
{
    [LoggerMessage(1, LogLevel.Information, "Configuration {Path} applied: {Sites} sites on {Addresses}.")]
    public partial void ConfigurationApplied(string path, int sites, string addresses);

    [LoggerMessage(2, LogLevel.Error, "Reload failed; keeping the current configuration: {Reason}")]
    public partial void ConfigurationKept(string reason);

    [LoggerMessage(3, LogLevel.Warning, "{Option} has changed, which takes effect after a restart.")]
    public partial void NeedsRestart(string option);

    [LoggerMessage(4, LogLevel.Error, "Reload failed unexpectedly; keeping the current state.")]
    public partial void ReloadFailed(Exception fault);
}
