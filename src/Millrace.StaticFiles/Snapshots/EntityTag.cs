using System.Buffers.Text;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Http;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// An entity-tag in the form of its field (RFC 9110 section 8.8.3), or none. Stored inline, as every asset has one. 22 characters code 128
/// bits: a content digest, or, with a '-' after them, a size and time. A coding adds its letter, so that no two codings share a tag.
/// </summary>
internal struct EntityTag
{
    /// <summary>W/, two quotes, 22 characters, '-' and a letter.</summary>
    private const int BytesMax = 28;

    private TagBytes _bytes;
    private byte _length;

    [UnscopedRef]
    public readonly ReadOnlySpan<byte> Bytes => ((ReadOnlySpan<byte>)_bytes)[.._length];

    public readonly bool IsEmpty => _length == 0;

    /// <summary>The strong tag of a content digest: equal bytes have equal tags, on all replicas of a site.</summary>
    public static EntityTag OfContent(UInt128 digest) => Quote(digest, default, isWeak: false);

    /// <summary>The tag of a file whose bytes were not read.</summary>
    /// <param name="state">The file.</param>
    /// <param name="isWeak">Whether another write of the same size could have left the same time.</param>
    public static EntityTag OfState(in FileState state, bool isWeak) =>
        Quote(new UInt128((ulong)state.Size, (ulong)state.ModifiedAtNs), "-"u8, isWeak);

    /// <summary>
    /// The tag if another content had this size and time before: adds inode and change time, which nobody can set back. Valid on this
    /// machine only.
    /// </summary>
    public static EntityTag OfReusedState(in FileState state, bool isWeak) =>
        Quote(new UInt128((ulong)state.Size ^ state.Inode, (ulong)(state.ModifiedAtNs ^ state.ChangedAtNs)), "-"u8, isWeak);

    /// <summary>The tag of the same file as a variant in a coding.</summary>
    public readonly EntityTag For(ContentCoding coding)
    {
        EntityTag tag = this;
        if (!IsEmpty)
        {
            Debug.Assert(_length < BytesMax && coding != ContentCoding.Identity, "a tag gets one letter");
            tag._bytes[_length - 1] = LetterOf(coding);
            tag._bytes[_length] = (byte)'"';
            tag._length++;
        }

        return tag;
    }

    private static byte LetterOf(ContentCoding coding) => coding switch
    {
        ContentCoding.Brotli => (byte)'b',
        ContentCoding.Gzip => (byte)'g',
        ContentCoding.Zstd => (byte)'z',
        _ => throw new ArgumentOutOfRangeException(nameof(coding)),
    };

    private static EntityTag Quote(UInt128 value, ReadOnlySpan<byte> suffix, bool isWeak)
    {
        EntityTag tag = default;
        Span<byte> bytes = tag._bytes;
        ReadOnlySpan<byte> opening = isWeak ? "W/\""u8 : "\""u8;
        opening.CopyTo(bytes);
        int written = opening.Length;
        written += Base64Url.EncodeToUtf8(MemoryMarshal.AsBytes(new ReadOnlySpan<UInt128>(in value)), bytes[written..]);
        suffix.CopyTo(bytes[written..]);
        written += suffix.Length;
        bytes[written++] = (byte)'"';
        tag._length = (byte)written;
        return tag;
    }

    [InlineArray(BytesMax)]
    private struct TagBytes
    {
        private byte _first;
    }
}
