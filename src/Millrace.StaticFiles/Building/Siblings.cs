using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Coded files beside their original: <c>x.br</c>, <c>x.gz</c> and <c>x.zst</c> are variants of <c>x</c> as long as they are not older, and
/// were not those of another <c>x</c>: one that is put back with its old time (cp -p, rsync -t) is older than what was made of the newer.
/// Of those that were, decoding decides: they may have come before the original they are made of.
/// </summary>
internal static class Siblings
{
    private const long NsPerSecond = 1_000_000_000;

    /// <summary>The coding a file's name tells of, and the name of its original.</summary>
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

    /// <summary>Whether a coded file can have been made of this original.</summary>
    /// <remarks>
    /// Tools that keep an original's time may cut it to whole seconds (tar, zip, rsync to some file systems): such a time counts as the
    /// whole of its second. Any other is compared as it is: in the second of its making an original may have been rewritten.
    /// </remarks>
    public static bool IsNotOlder(Asset coded, Asset original)
    {
        bool isCut = coded.ModifiedAtNs % NsPerSecond == 0;
        long latestNs = isCut ? SaturatingAdd(coded.ModifiedAtNs, NsPerSecond - 1) : coded.ModifiedAtNs;
        return latestNs >= original.ModifiedAtNs;
    }

    /// <summary>For each original of a directory, whose files are ordered, those whose names say that they are coded ones of it.</summary>
    public static ILookup<ListedFile, (ContentCoding Coding, ListedFile Coded)> NamedIn(ListedDirectory directory) =>
        Pairs(directory).ToLookup(pair => pair.Original, pair => (pair.Coding, pair.Coded));

    /// <summary>Those of them that can be, by the assets they have now.</summary>
    public static IEnumerable<(ContentCoding Coding, Asset Coded)> Of(
        Asset original, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named) =>
        from sibling in named
        let coded = sibling.Coded.Asset
        where coded is not null && IsNotOlder(coded, original) && original.ForeignSiblings?.Contains(coded.State) != true
        select (sibling.Coding, coded);

    /// <summary>Those that were shown with what had the original's name before, and are not of its content. Null: none.</summary>
    public static FileState[]? ForeignTo(
        Asset original, Asset before, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named, SiblingProof proof)
    {
        bool isSameContent = before.State == original.State
            || (original.HasTagOfContent && before.HasTagOfContent && original.EntityTag.SequenceEqual(before.EntityTag));
        HashSet<FileState> suspects = isSameContent ? [] : [.. ShownWith(before).Select(variant => variant.State)];
        suspects.UnionWith(before.ForeignSiblings ?? []);
        FileState[] foreign =
        [
            .. from sibling in named
               let coded = sibling.Coded.Asset
               where coded is not null && suspects.Contains(coded.State) && !proof.Holds(original, sibling.Coding, coded)
               select coded.State,
        ];
        return foreign.Length > 0 ? foreign : null;
    }

    /// <summary>Whether an asset has just these as its variants, with the bytes they have now.</summary>
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
