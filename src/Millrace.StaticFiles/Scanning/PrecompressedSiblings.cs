using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Pairs coded files with their originals: <c>x.br</c>, <c>x.gz</c> and <c>x.zst</c> are variants of <c>x</c> unless they are older or
/// belonged to a previous <c>x</c>. An original restored with its old time (cp -p, rsync -t) is older than files made from the newer one.
/// For files that belonged to a previous one, decoding decides: they may have come before the original that they are made from.
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

    /// <summary>Those that can be its variants, by their present assets.</summary>
    public static IEnumerable<(ContentCoding Coding, Asset Coded)> Of(
        Asset original, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named) =>
        from sibling in named
        let coded = sibling.Coded.Asset
        where coded is { IsUnreadable: false } && IsNotOlder(coded, original) && original.ForeignSiblings?.Contains(coded.State) != true
        select (sibling.Coding, coded);

    /// <summary>Those that were shown with the previous asset of the name and do not match this content; null for none.</summary>
    public static FileState[]? ForeignTo(
        Asset original, Asset before, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named, SiblingVerifier verifier)
    {
        bool isSameContent = before.State == original.State
            || (original.HasTagOfContent && before.HasTagOfContent && original.EntityTag.SequenceEqual(before.EntityTag));
        HashSet<FileState> suspects = isSameContent ? [] : [.. ShownWith(before).Select(variant => variant.State)];
        suspects.UnionWith(before.ForeignSiblings ?? []);
        FileState[] foreign =
        [
            .. from sibling in named
               let coded = sibling.Coded.Asset
               where coded is not null && suspects.Contains(coded.State) && !verifier.Matches(original, sibling.Coding, coded)
               select coded.State,
        ];
        return foreign.Length > 0 ? foreign : null;
    }

    /// <summary>Whether an asset has exactly these as its sibling variants, with their present bytes.</summary>
    public static bool AreShownBy(Asset original, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named)
    {
        if (original.Variants is null && !named.Any())
        {
            return true;
        }

        (ContentCoding Coding, Asset Coded)[] siblings = [.. Of(original, named)];
        return ShownWith(original).Count() == siblings.Length
            && siblings.All(sibling => original.VariantFor(sibling.Coding) is Asset variant && sibling.Coded.IsShownBy(variant));
    }

    private static IEnumerable<Asset> ShownWith(Asset original) =>
        (original.Variants?.All ?? []).Where(variant => variant.Origin == AssetOrigin.Sibling);

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
