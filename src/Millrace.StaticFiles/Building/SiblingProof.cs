using System.IO.Compression;
using Millrace.Http;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Tells by decoding whether a coded file is made of an original, where times cannot: a deployment may bring the coded file first, and
/// one that is undone leaves those of another original behind. For the few that are in doubt, as it reads and decodes them.
/// </summary>
internal sealed class SiblingProof(RootDirectory root)
{
    /// <summary>What a coding's frame may add to a body that it cannot make smaller.</summary>
    private const int FrameBytesMax = 1024;

    private const int PieceBytes = 64 * 1024;

    /// <summary>
    /// Whether it decodes to the content that the original's tag is made of. False also where nobody can tell: of originals that were
    /// not read, of zstd, for which there is no decoder, and of files that have changed since they were loaded.
    /// </summary>
    public bool Holds(Asset original, ContentCoding coding, Asset coded)
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

        long read = FileContent.Read(fd, bytes);
        bool isSame = FileState.Read(fd, out FileState state) == 0 && state == coded.State;
        _ = FileCalls.Close(fd);
        return read == bytes.Length && isSame;
    }

    /// <summary>False where there are more or fewer bytes than wanted, or what is there is not of this coding.</summary>
    private static bool TryDigest(Stream decoder, long bytesWanted, out UInt128 digest)
    {
        using var content = new ContentDigest();
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
            // BrotliStream has the latter for some of what it cannot read.
            done = -1;
        }

        digest = content.Finish();
        return done == bytesWanted;
    }
}
