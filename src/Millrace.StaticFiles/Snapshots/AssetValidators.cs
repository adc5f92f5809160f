using System.Buffers.Text;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Http;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// The validators of a representation (RFC 9110 section 8.8): an entity-tag and a date, each only as strong as the state of the file at its
/// stat allows.
/// </summary>
internal readonly struct AssetValidators(EntityTag tag, bool isOfContent, bool hasDate)
{
    /// <summary>
    /// Reproducible builds (Nix, OSTree, Bazel) set every file to 0 or 1 s after 1970; such a time carries no information.
    /// </summary>
    private const long LastMeaninglessNs = 1_000_000_000;

    /// <summary>
    /// RFC 9110 section 8.8.2.2 requires one second between them; one more covers that both are truncated to whole seconds.
    /// </summary>
    private const long StrongDateAgeNs = 2_000_000_000;

    private readonly EntityTag _tag = tag;

    /// <summary>With quotes; empty if there is none.</summary>
    [UnscopedRef]
    public ReadOnlySpan<byte> EntityTag => _tag.Bytes;

    /// <summary>Whether no other content under this name is known to have had this date.</summary>
    public bool IsDateUnique { get; private init; } = true;

    /// <summary>Whether no content under this name is known to have had a later date. Without a date: whether none had one.</summary>
    public bool IsDateLatest { get; init; } = true;

    /// <summary>Whether the tag derives from the bytes.</summary>
    public bool IsOfContent => isOfContent;

    /// <summary>Whether another content had the same size and time before, see <see cref="OfState"/>.</summary>
    public bool IsTimeReused { get; private init; }

    /// <summary>The validators of a file whose bytes were read.</summary>
    public static AssetValidators OfContent(UInt128 digest, in FileState state, long checkedAtNs, Asset? before)
    {
        AssetValidators own = With(Snapshots.EntityTag.OfContent(digest), isOfContent: true, state, checkedAtNs);
        bool isSame = before is { HasTagOfContent: true } && before.EntityTag.SequenceEqual(own.EntityTag);
        return own.After(before, state, isSame);
    }

    /// <summary>
    /// The validators of a coding of these bytes, which shares their history. Its date is never strong: a file has other bytes in this
    /// coding before background compression is done with it, and with another version of the encoder.
    /// </summary>
    public AssetValidators OfCoded(UInt128 digest, in FileState state, long checkedAtNs) => IsOfUntrueState
        ? OfUntrueState(digest)
        : With(Snapshots.EntityTag.OfContent(digest), isOfContent: true, state, checkedAtNs) with
        {
            IsDateUnique = false,
            IsDateLatest = IsDateLatest,
        };

    /// <summary>Whether the file's state says nothing about its content.</summary>
    public bool IsOfUntrueState { get; private init; }

    /// <summary>The validators of a file whose bytes were read, and whose size and times say nothing about its content.</summary>
    public static AssetValidators OfUntrueState(UInt128 digest) =>
        new(Snapshots.EntityTag.OfContent(digest), isOfContent: true, hasDate: false) { IsOfUntrueState = true };

    /// <summary>
    /// The validators of a file by its size and time alone. After the previous asset of this name, a write whose time was set back (touch
    /// -r, rsync -t of an equal size) must not look unchanged.
    /// </summary>
    public static AssetValidators OfState(in FileState state, long checkedAtNs, Asset? before)
    {
        bool isReused = before is not null
            && before.State.Size == state.Size
            && before.State.ModifiedAtNs == state.ModifiedAtNs
            && (before.State != state || before.Validators.IsTimeReused);
        bool isWeak = !state.IsSettledAt(checkedAtNs);
        EntityTag tag = state.ModifiedAtNs <= LastMeaninglessNs ? default
            : isReused ? Snapshots.EntityTag.OfReusedState(state, isWeak)
            : Snapshots.EntityTag.OfState(state, isWeak);
        AssetValidators own = With(tag, isOfContent: false, state, checkedAtNs) with { IsTimeReused = isReused };
        return own.After(before, state, isSame: before is not null && before.State == state);
    }

    /// <summary>The validators of the same file as a variant in a coding.</summary>
    public AssetValidators For(ContentCoding coding) => new(_tag.For(coding), IsOfContent, hasDate)
    {
        IsDateUnique = IsDateUnique,
        IsDateLatest = IsDateLatest,
    };

    /// <summary>
    /// Whether the date is a strong validator at the given time (RFC 9110 section 8.8.2.2): the second it names is over, and only this
    /// content is known to have been served under this name in it. A later change has another date, or is seen and becomes another asset.
    /// </summary>
    public bool IsDateStrongAt(long nowNs, in FileState state) =>
        hasDate && IsDateUnique && nowNs - state.ModifiedAtNs >= StrongDateAgeNs;

    /// <summary>The date in seconds since 1970, or <see cref="Validators.NoDate"/>.</summary>
    public long LastModified(in FileState state) => hasDate ? state.ModifiedAtNs / 1_000_000_000 : Validators.NoDate;

    private static AssetValidators With(EntityTag tag, bool isOfContent, in FileState state, long checkedAtNs)
    {
        bool hasDate = state.ModifiedAtNs > LastMeaninglessNs && state.ModifiedAtNs <= checkedAtNs;
        return new(tag, isOfContent, hasDate);
    }

    /// <summary>
    /// These validators given the previous asset of the name. Dates only rise unless somebody sets them back; after that it is unknown
    /// which later dates existed before.
    /// </summary>
    private AssetValidators After(Asset? before, in FileState state, bool isSame)
    {
        if (before is null)
        {
            return this;
        }

        long date = LastModified(state);
        bool isLatest = before.Validators.IsDateLatest && date >= before.LastModified;
        return isSame && date == before.LastModified
            ? this with { IsDateUnique = before.Validators.IsDateUnique, IsDateLatest = before.Validators.IsDateLatest }
            : this with { IsDateUnique = isLatest && date > before.LastModified, IsDateLatest = isLatest };
    }
}

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

    /// <summary>
    /// The tag of a file whose bytes were not read; weak if another write of the same size could have left the same time.
    /// </summary>
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
        ContentCoding.DictionaryZstd => (byte)'d',
        ContentCoding.DictionaryBrotli => (byte)'e',
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
