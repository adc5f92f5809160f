using System.IO.Compression;
using Millrace.Http;
using Millrace.Interop.Files;
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

/// <summary>
/// Decides by decoding whether a coded file is made from an original, where times cannot: a deployment may bring the coded file first, and
/// an undone one leaves the coded files of another original. Reads and decodes the files, so it is only used for the few in doubt.
/// </summary>
internal sealed class SiblingVerifier(RootDirectory root)
{
    /// <summary>What a coding's framing adds to an incompressible body, at most.</summary>
    private const int FrameBytesMax = 1024;

    private const int PieceBytes = 64 * 1024;

    /// <summary>
    /// Whether it decodes to the content of the original's tag. False also if that cannot be known: for originals that were not read, for
    /// zstd, which has no decoder here, and for files that changed since they were loaded.
    /// </summary>
    public bool Matches(Asset original, ContentCoding coding, Asset coded)
    {
        if (!original.HasTagOfContent || coded.Size > original.Size + FrameBytesMax || !TryRead(coded, out byte[] bytes))
        {
            return false;
        }

        using var source = new MemoryStream(bytes, writable: false);
        using Stream? decoder = coding switch
        {
            ContentCoding.Gzip => new GZipStream(source, CompressionMode.Decompress),
            ContentCoding.Brotli => new BrotliStream(source, CompressionMode.Decompress),
            _ => null,
        };
        return decoder is not null && TryDigest(decoder, original.Size, out UInt128 digest)
            && EntityTag.OfContent(digest).Bytes.SequenceEqual(original.EntityTag);
    }

    private bool TryRead(Asset coded, out byte[] bytes)
    {
        bytes = new byte[coded.Size];
        int fd = root.OpenFile(coded.SitePath.RelativeZ);
        if (fd < 0)
        {
            return false;
        }

        bool isRead = FileContent.TryReadUnchanged(fd, coded.State, bytes);
        _ = FileCalls.Close(fd);
        return isRead;
    }

    /// <summary>False if the length differs, or the data is not of this coding.</summary>
    private static bool TryDigest(Stream decoder, long bytesWanted, out UInt128 digest)
    {
        var content = new ContentDigest();
        byte[] piece = new byte[PieceBytes];
        long done = 0;
        try
        {
            int count;
            while (done <= bytesWanted && (count = decoder.Read(piece)) > 0)
            {
                content.Append(piece.AsSpan(0, count));
                done += count;
            }
        }
        catch (Exception error) when (error is InvalidDataException or InvalidOperationException)
        {
            // BrotliStream throws InvalidOperationException for some data that is not valid.
            done = -1;
        }

        digest = content.Finish();
        return done == bytesWanted;
    }
}
