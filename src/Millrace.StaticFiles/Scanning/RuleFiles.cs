using System.Text;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Reads a site's own rule files and compiles them. They are in its root, are read through it like all files, and are never served.
/// </summary>
internal sealed class RuleFiles(RootDirectory root, SiteOptions options)
{
    /// <summary>Enough for thousands of rules. A larger file is not a rule file.</summary>
    public const int BytesMax = 1024 * 1024;

    /// <summary>A file saved by an editor is stable by the second read.</summary>
    private const int AttemptsMax = 3;

    /// <summary>A state that no file has, present or missing, so that the next check differs and reads again.</summary>
    private static readonly FileState ReadAgain = new() { Size = -1 };

    private static ReadOnlySpan<byte> HeadersPathZ => "_headers\0"u8;

    private static ReadOnlySpan<byte> RedirectsPathZ => "_redirects\0"u8;

    public static bool IsName(SitePath path) => path.RelativeZ.SequenceEqual(HeadersPathZ) || path.RelativeZ.SequenceEqual(RedirectsPathZ);

    /// <summary>Their present states, to compare.</summary>
    public static RuleFileStates Stat(RootDirectory root) => new(Stat(root, HeadersPathZ), Stat(root, RedirectsPathZ));

    /// <summary>
    /// The compiled rules; the previous ones if the files are unchanged or cannot be read. Without previous rules, a file that cannot be
    /// read is a <see cref="SiteException"/>: a site must not start without the fields it was meant to have.
    /// </summary>
    public (SiteRules Rules, RuleFileStates? States) Read(CatalogSnapshot? previous, ListedDirectory rootListed, SkippedEntries skipped)
    {
        if (!options.SiteFiles)
        {
            return (previous?.Rules ?? SiteRules.Compile(options, [], []), null);
        }

        if (previous?.RuleFiles is RuleFileStates known && known.Refused?.Reason != SkipReason.IoError && Stat(root).HasSameFiles(known))
        {
            Note(known, rootListed, skipped);
            return (previous.Rules, known);
        }

        RuleFile headers = Read(HeadersPathZ);
        RuleFile redirects = Read(RedirectsPathZ);
        var states = new RuleFileStates(headers.State, redirects.State)
        {
            Refused = headers.RefusedAs("/_headers") ?? redirects.RefusedAs("/_redirects"),
        };
        if (previous is not null && states.Refused is not null)
        {
            Note(states, rootListed, skipped);
            return (previous.Rules, states);
        }

        headers.ThrowIfRefused("_headers", options);
        redirects.ThrowIfRefused("_redirects", options);
        return (SiteRules.Compile(options, headers.Bytes, redirects.Bytes), states);
    }

    /// <summary>Notes it in every build while it lasts, because a directory's notes are those of its last listing.</summary>
    private static void Note(in RuleFileStates states, ListedDirectory rootListed, SkippedEntries skipped)
    {
        if (states.Refused is SkippedEntry refused)
        {
            skipped.Note(rootListed, SitePath.Of(Encoding.ASCII.GetBytes(refused.Path)), refused.Reason, refused.Error);
        }
    }

    /// <summary>The state of a file; the default if there is none; for each error a distinct state, for as long as it lasts.</summary>
    private static FileState Stat(RootDirectory root, ReadOnlySpan<byte> pathZ)
    {
        int result = root.Stat(pathZ, out FileState state);
        return result == 0 ? (state.Type == FileType.Regular ? state : default)
            : result is -Errno.ENOENT ? default
            : new FileState { Size = ReadAgain.Size + result };
    }

    /// <summary>A missing file is empty.</summary>
    private RuleFile Read(ReadOnlySpan<byte> pathZ)
    {
        long openedAtNs = WallClock.NowNs;
        int fd = root.OpenFile(pathZ);
        if (fd < 0)
        {
            // A socket of that name is not a rule file, like a FIFO or a directory, which can be opened.
            return -fd is Errno.ENOENT or Errno.ENXIO
                ? default
                : Unreadable(-fd, Stat(root, pathZ), openedAtNs);
        }

        try
        {
            FileReadResult file = FileContent.ReadWhole(fd, BytesMax, AttemptsMax);
            return file.Outcome switch
            {
                FileReadOutcome.Read => new RuleFile(file.Bytes, Settled(file.State, file.CheckedAtNs), null),
                FileReadOutcome.NotRegular => default,
                FileReadOutcome.TooLarge => new RuleFile([], Settled(file.State, file.CheckedAtNs), SkipReason.TooLarge),
                FileReadOutcome.Failed => Unreadable(file.Error, file.State, file.CheckedAtNs),
                _ => new RuleFile([], ReadAgain, SkipReason.ChangedDuringRead),
            };
        }
        finally
        {
            _ = FileCalls.Close(fd);
        }
    }

    /// <summary>
    /// Errors that the file itself causes (permissions, a symlink's target) change with its state. Other errors can pass without a change,
    /// so the file is read again whenever the root is.
    /// </summary>
    private static RuleFile Unreadable(int error, in FileState state, long checkedAtNs)
    {
        SkippedEntries.ThrowIfExhausted(error);
        SkipReason reason = SkippedEntries.ReasonFor(error);
        return new RuleFile([], Settled(state, checkedAtNs), reason, error);
    }

    private static FileState Settled(in FileState state, long checkedAtNs) => state.IsSettledAt(checkedAtNs) ? state : ReadAgain;

    private readonly record struct RuleFile(byte[]? Bytes, FileState State, SkipReason? Refused, int Error = 0)
    {
        public SkippedEntry? RefusedAs(string path) =>
            Refused is SkipReason reason ? new SkippedEntry(SitePath.Root, path, reason, Error) : null;

        public void ThrowIfRefused(string name, SiteOptions options)
        {
            if (Refused is SkipReason reason)
            {
                throw new SiteException(
                    $"The site's own '{name}' in '{options.Root}' cannot be read: {reason.Describe()}.",
                    $"Fix the file, or ignore it (--site-files off; {nameof(SiteOptions.SiteFiles)} in code).");
            }
        }
    }
}

/// <summary>
/// The states of the files that a site's rules were compiled from. Default: not present. A file read too soon after its last change
/// (<see cref="FileState.IsSettledAt"/>) has a state that no file has.
/// </summary>
internal readonly record struct RuleFileStates(FileState Headers, FileState Redirects)
{
    /// <summary>The file that could not be read in these states, so that the previous rules stay.</summary>
    public SkippedEntry? Refused { get; init; }

    /// <summary>Whether the files are unchanged, whether or not they could be read.</summary>
    public bool HasSameFiles(in RuleFileStates other) => Headers == other.Headers && Redirects == other.Redirects;
}
