using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Pairs coded files with their originals: <c>x.br</c>, <c>x.gz</c> and <c>x.zst</c> may be variants of <c>x</c> unless they are older.
/// Whether they are, their decoding decides later.
/// </summary>
internal static class PrecompressedSiblings
{
    private const long NsPerSecond = 1_000_000_000;

    /// <summary>The coding that a file's name implies, and the name of its original.</summary>
    public static bool TryParse(ReadOnlySpan<byte> name, out ReadOnlySpan<byte> originalName, out ContentCoding coding)
    {
        int dot = name.LastIndexOf((byte)'.');
        originalName = dot > 0 ? name[..dot] : default;
        ReadOnlySpan<byte> extension = dot > 0 ? name[(dot + 1)..] : default;
        coding = extension.SequenceEqual("br"u8) ? ContentCoding.Brotli
            : extension.SequenceEqual("gz"u8) ? ContentCoding.Gzip
            : extension.SequenceEqual("zst"u8) ? ContentCoding.Zstd
            : ContentCoding.Identity;
        return coding != ContentCoding.Identity;
    }

    /// <summary>Whether a coded file can have been made from this original.</summary>
    /// <remarks>
    /// Tools that keep an original's time may truncate it to whole seconds (tar, zip, rsync to some file systems): such a time counts as
    /// the whole of its second. Any other is compared exactly, because the original may have been rewritten within the same second.
    /// </remarks>
    public static bool IsNotOlder(Asset coded, Asset original)
    {
        bool isTruncated = coded.ModifiedAtNs % NsPerSecond == 0;
        long latestNs = isTruncated ? SaturatingAdd(coded.ModifiedAtNs, NsPerSecond - 1) : coded.ModifiedAtNs;
        return latestNs >= original.ModifiedAtNs;
    }

    /// <summary>
    /// For each original of a directory, whose files are sorted, the files whose names mark them as coded versions of it.
    /// </summary>
    public static ILookup<ListedFile, (ContentCoding Coding, ListedFile Coded)> NamedIn(ListedDirectory directory) =>
        Pairs(directory).ToLookup(pair => pair.Original, pair => (pair.Coding, pair.Coded));

    /// <summary>
    /// Those that can be its variants, by their present assets. The verdicts on the same files of the previous asset of the name stay.
    /// </summary>
    public static Sibling[] Of(Asset original, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named, Asset? before)
    {
        bool isSameContent = before?.HasSameContent(original) == true;
        return
        [
            .. from candidate in Candidates(original, named)
               select new Sibling(candidate.Coded.AsSiblingOf(original, candidate.Coding), candidate.Coded)
               {
                   Verdict = isSameContent ? VerdictOn(candidate.Coding, candidate.Coded, before!) : SiblingVerdict.Undecided,
               },
        ];
    }

    /// <summary>Whether the siblings of an asset are exactly these files, with their present bytes.</summary>
    public static bool AreThoseOf(Asset original, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named) =>
        (original.Siblings.Count == 0 && !named.Any())
        || original.Siblings.Select(static sibling => sibling.File)
            .SequenceEqual(Candidates(original, named).Select(static candidate => candidate.Coded));

    private static IEnumerable<(ContentCoding Coding, Asset Coded)> Candidates(
        Asset original, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named) =>
        from sibling in named
        let coded = sibling.Coded.Asset
        where coded is { IsUnreadable: false } && original is { IsUnreadable: false, Coding: ContentCoding.Identity }
            && IsNotOlder(coded, original)
        select (sibling.Coding, coded);

    private static SiblingVerdict VerdictOn(ContentCoding coding, Asset coded, Asset before) =>
        before.Siblings.FirstOrDefault(sibling => sibling.Variant.Coding == coding && sibling.File.HasSameContent(coded))?.Verdict
            ?? SiblingVerdict.Undecided;

    private static IEnumerable<(ListedFile Original, ContentCoding Coding, ListedFile Coded)> Pairs(ListedDirectory directory)
    {
        foreach (ListedFile file in directory.Files)
        {
            if (TryParse(file.Path.Name, out ReadOnlySpan<byte> originalName, out ContentCoding coding)
                && directory.Find(originalName) is ListedFile original)
            {
                yield return (original, coding, file);
            }
        }
    }

    private static long SaturatingAdd(long value, long addend) => value > long.MaxValue - addend ? long.MaxValue : value + addend;
}
