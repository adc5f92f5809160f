using Microsoft.Extensions.Logging;

namespace Millrace.StaticFiles;

/// <summary>A site's log lines. Event ids are stable: 42x what it was told, 43x what it was asked to do.</summary>
internal sealed partial class SiteLog(ILogger logger)
{
    private IReadOnlyList<string> _told = [];

    /// <summary>Warns of rules that are not applied; once, as long as they stay the same.</summary>
    public void Tell(IReadOnlyList<string> warnings)
    {
        IReadOnlyList<string> told = Interlocked.Exchange(ref _told, warnings);
        if (!told.SequenceEqual(warnings, StringComparer.Ordinal))
        {
            foreach (string warning in warnings)
            {
                RuleIgnored(warning);
            }
        }
    }

    [LoggerMessage(420, LogLevel.Warning, "Ignored: {Rule}")]
    public partial void RuleIgnored(string rule);

    [LoggerMessage(421, LogLevel.Error, "The password file is not read: {Cause} Who was known before still is.")]
    public partial void PasswordFileRefused(string cause);

    [LoggerMessage(422, LogLevel.Error, "Compressing in the background failed; files are served as they are.")]
    public partial void CompressionFailed(Exception error);

    [LoggerMessage(430, LogLevel.Information, "{Root} is read anew: {Assets} assets.")]
    public partial void Reloaded(string root, int assets);

    [LoggerMessage(431, LogLevel.Error, "{Root} cannot be read anew: {Cause} What was read before stays.")]
    public partial void ReloadRefused(string root, string cause);
}
