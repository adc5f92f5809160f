using System.Buffers.Text;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Http;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// An entity-tag as its field has it (RFC 9110 section 8.8.3), or none. Held in place: it is a part of every asset. 128 bits in 22
/// characters are a content's, followed by '-' a size's and a time's; a coding adds its letter, so that no two codings share a tag.
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

    /// <summary>The strong tag of a content: two files with the same bytes have the same, on all replicas of a site.</summary>
    public static EntityTag OfContent(UInt128 digest) => Quote(digest, default, isWeak: false);

    /// <summary>The tag of a file nobody has read.</summary>
    /// <param name="state">The file.</param>
    /// <param name="isWeak">Another write of the same size could have left the same time.</param>
    public static EntityTag OfState(in FileState state, bool isWeak) =>
        Quote(new UInt128((ulong)state.Size, (ulong)state.ModifiedAtNs), "-"u8, isWeak);

    /// <summary>
    /// The same where another content had this size and this time before: with what nobody can set back, on this machine alone.
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
