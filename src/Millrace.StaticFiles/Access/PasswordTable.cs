using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;

namespace Millrace.StaticFiles.Access;

/// <summary>The users of a site and their password hashes, as read from the file at one time. Immutable.</summary>
internal sealed class PasswordTable
{
    /// <summary>The table before a file was read: no SHA-256 digest is all zero.</summary>
    public static readonly PasswordTable Empty = new(new byte[SHA256.HashSizeInBytes], []);

    private readonly Dictionary<byte[], byte[]> _hashes;
    private readonly Dictionary<byte[], byte[]>.AlternateLookup<ReadOnlySpan<byte>> _lookup;
    private readonly byte[][] _decoys;
    private readonly NameComparer _names;

    /// <param name="digest">The digest of the file, see <see cref="DigestOf"/>.</param>
    /// <param name="users">Unique names and their hashes.</param>
    public PasswordTable(byte[] digest, IEnumerable<KeyValuePair<byte[], byte[]>> users)
    {
        Digest = digest;
        _names = new NameComparer(BinaryPrimitives.ReadUInt64LittleEndian(digest));
        _hashes = new Dictionary<byte[], byte[]>(users, _names);
        _lookup = _hashes.GetAlternateLookup<ReadOnlySpan<byte>>();
        _decoys = [.. _hashes.Values];
    }

    public int Count => _hashes.Count;

    /// <summary>Identifies the file's content. It is as secret as the file.</summary>
    public byte[] Digest { get; }

    public static byte[] DigestOf(ReadOnlySpan<byte> file) => SHA256.HashData(file);

    /// <summary>
    /// The hash to compare a user's password with. An unknown user gets the hash of another user, always the same one, so that it takes as
    /// much time as a known user; the result is then denied in any case. Empty if there are no users.
    /// </summary>
    public ReadOnlySpan<byte> HashOf(ReadOnlySpan<byte> user, out bool isKnown)
    {
        isKnown = _lookup.TryGetValue(user, out byte[]? hash);
        return isKnown ? hash : _decoys.Length == 0 ? [] : _decoys[(uint)_names.GetHashCode(user) % (uint)_decoys.Length];
    }

    /// <summary>
    /// Compares names by their bytes. Its hash is seeded by the secret content of the file: outsiders cannot predict which decoy a name
    /// gets, and it is the same after a restart.
    /// </summary>
    private sealed class NameComparer(ulong seed)
        : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
    {
        public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

        public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

        public int GetHashCode([DisallowNull] byte[] obj) => GetHashCode(obj.AsSpan());

        public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

        /// <summary>FNV-1a, with its upper half folded in, because the lower bits alone mix poorly.</summary>
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
