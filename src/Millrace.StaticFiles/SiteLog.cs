using Microsoft.Extensions.Logging;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles;

/// <summary>A site's log lines. Event ids are stable: 42x what it was told, 43x what it was asked to do.</summary>
internal sealed partial class SiteLog(ILogger logger)
{
    private const int ShownMax = 5;

    private readonly Lock _telling = new();
    private IReadOnlyList<string> _told = [];
    private RuleFileStates? _toldOf;

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

    /// <summary>Tells of a rule file that could not be read; once, as long as it stays the same.</summary>
    public void Tell(string root, RuleFileStates? states)
    {
        lock (_telling)
        {
            if (states?.Refused is SkippedEntry refused && states != _toldOf)
            {
                RuleFileRefused(refused.Path, root, refused.Reason);
            }

            _toldOf = states;
        }
    }

    /// <summary>Tells what of the root is not served: a link that leads out or a file nobody may read is a silent 404 otherwise.</summary>
    public void NotServed(string root, int count, IReadOnlyList<SkippedEntry> entries)
    {
        if (count > 0)
        {
            string some = string.Join(", ", entries.Take(ShownMax).Select(static entry => $"{entry.Path} ({entry.Reason})"));
            EntriesSkipped(root, count, count > ShownMax ? some + ", ..." : some);
        }
    }

    [LoggerMessage(420, LogLevel.Warning, "Ignored: {Rule}")]
    public partial void RuleIgnored(string rule);

    [LoggerMessage(421, LogLevel.Error, "The password file is not read: {Cause} Who was known before still is.")]
    public partial void PasswordFileRefused(string cause);

    [LoggerMessage(422, LogLevel.Error, "Compressing in the background failed; files are served as they are.")]
    public partial void CompressionFailed(Exception error);

    [LoggerMessage(423, LogLevel.Warning, "{Count} entries of {Root} are not served: {Entries}")]
    public partial void EntriesSkipped(string root, int count, string entries);

    [LoggerMessage(424, LogLevel.Error, "{File} of {Root} cannot be read ({Reason}). The rules that were read before stay.")]
    public partial void RuleFileRefused(string file, string root, SkipReason reason);

    [LoggerMessage(430, LogLevel.Information, "{Root} is read anew: {Assets} assets.")]
    public partial void Reloaded(string root, int assets);

    [LoggerMessage(431, LogLevel.Error, "{Root} cannot be read anew: {Cause} What was read before stays.")]
    public partial void ReloadRefused(string root, string cause);
}
