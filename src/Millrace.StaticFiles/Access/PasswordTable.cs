using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;

namespace Millrace.StaticFiles.Access;

/// <summary>The users of a site and the hashes of their passwords, as a file had them at one moment. Immutable.</summary>
internal sealed class PasswordTable
{
    /// <summary>Of no file: no digest is all zero.</summary>
    public static readonly PasswordTable Empty = new(new byte[SHA256.HashSizeInBytes], []);

    private readonly Dictionary<byte[], byte[]> _hashes;
    private readonly Dictionary<byte[], byte[]>.AlternateLookup<ReadOnlySpan<byte>> _lookup;
    private readonly byte[][] _decoys;
    private readonly NameComparer _names;

    /// <param name="digest">Of the file, see <see cref="DigestOf"/>.</param>
    /// <param name="users">Names, each once, and their hashes.</param>
    public PasswordTable(byte[] digest, IEnumerable<KeyValuePair<byte[], byte[]>> users)
    {
        Digest = digest;
        _names = new NameComparer(BinaryPrimitives.ReadUInt64LittleEndian(digest));
        _hashes = new Dictionary<byte[], byte[]>(users, _names);
        _lookup = _hashes.GetAlternateLookup<ReadOnlySpan<byte>>();
        _decoys = [.. _hashes.Values];
    }

    public int Count => _hashes.Count;

    /// <summary>Says whether two files are the same. A secret as long as the file is one.</summary>
    public byte[] Digest { get; }

    public static byte[] DigestOf(ReadOnlySpan<byte> file) => SHA256.HashData(file);

    /// <summary>
    /// The hash to compare a user's password with. Somebody unknown gets that of another user, always the same one, so that they cost as
    /// much time as one who is known; to them the result is denied whatever it is. Empty where there are no users at all.
    /// </summary>
    public ReadOnlySpan<byte> HashOf(ReadOnlySpan<byte> user, out bool isKnown)
    {
        isKnown = _lookup.TryGetValue(user, out byte[]? hash);
        return isKnown ? hash : _decoys.Length == 0 ? [] : _decoys[(uint)_names.GetHashCode(user) % (uint)_decoys.Length];
    }

    /// <summary>
    /// Compares names by their bytes. Its hash is seeded by the file, which nobody outside knows: which decoy a name gets cannot be
    /// foretold, and is the same after a restart.
    /// </summary>
    private sealed class NameComparer(ulong seed)
        : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
    {
        public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

        public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

        public int GetHashCode([DisallowNull] byte[] obj) => GetHashCode(obj.AsSpan());

        public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

        /// <summary>FNV-1a, its upper half folded in: the lower bits alone mix poorly.</summary>
        public int GetHashCode(ReadOnlySpan<byte> alternate)
        {
            ulong hash = seed;
            foreach (byte value in alternate)
            {
                hash = (hash ^ value) * 0x100000001b3;
            }

            return (int)(hash ^ (hash >> 32));
        }
    }
}
