using System.Collections.Concurrent;
using System.Diagnostics;
using System.Security.Cryptography;
using Millrace.Interop.Crypt;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Caches recently verified credentials, so that a browser's next request costs a microsecond and not a hash. It holds no passwords: a key
/// is an HMAC, with a key of this cache, over user, password and the hash that they matched. Callable on any thread; a lookup allocates
/// nothing and takes no lock.
/// </summary>
internal sealed class CredentialCache(TimeProvider time)
{
    /// <summary>
    /// How long an entry is valid. A change of the user's hash invalidates it earlier, because the hash is part of its key.
    /// </summary>
    public static readonly TimeSpan Lifetime = TimeSpan.FromMinutes(5);

    /// <summary>In about half a MiB. Expired entries are dropped when it is reached, then the older half.</summary>
    public const int EntriesMax = 4096;

    private readonly byte[] _key = RandomNumberGenerator.GetBytes(HMACSHA256.HashSizeInBytes);

    private readonly ConcurrentDictionary<byte[], long> _addedAt = new(BytesComparer.Instance);

    public bool Contains(in UserCredentials credentials)
    {
        // An attacker cannot choose the digest, so the time of a comparison reveals nothing.
        Span<byte> digest = stackalloc byte[HMACSHA256.HashSizeInBytes];
        credentials.Digest(_key, digest);
        return _addedAt.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(digest, out long addedAt)
            && time.GetElapsedTime(addedAt) < Lifetime;
    }

    /// <summary>Adds an entry. Entries that others drop meanwhile are verified again.</summary>
    public void Add(in UserCredentials credentials)
    {
        byte[] digest = new byte[HMACSHA256.HashSizeInBytes];
        credentials.Digest(_key, digest);
        if (_addedAt.Count >= EntriesMax && !_addedAt.ContainsKey(digest))
        {
            MakeRoom();
        }

        _addedAt[digest] = time.GetTimestamp();
    }

    private void MakeRoom()
    {
        // ToArray of the dictionary is atomic; LINQ would copy while other threads add.
        KeyValuePair<byte[], long>[] entries = _addedAt.ToArray();
        KeyValuePair<byte[], long>[] dropped = Array.FindAll(entries, entry => time.GetElapsedTime(entry.Value) >= Lifetime);
        if (dropped.Length == 0)
        {
            Array.Sort(entries, static (one, other) => one.Value.CompareTo(other.Value));
            dropped = entries[..(entries.Length / 2)];
        }

        foreach ((byte[] digest, _) in dropped)
        {
            _ = _addedAt.TryRemove(digest, out _);
        }
    }
}

/// <summary>A user name and password, and the hash that they must match. Borrows the caller's memory.</summary>
internal readonly ref struct UserCredentials(ReadOnlySpan<byte> user, ReadOnlySpan<byte> password, ReadOnlySpan<byte> hash)
{
    /// <summary>The maximum size of name and password together.</summary>
    public const int CredentialBytesMax = 1024;

    private readonly ReadOnlySpan<byte> _user = user;
    private readonly ReadOnlySpan<byte> _password = password;
    private readonly ReadOnlySpan<byte> _hash = hash;

    /// <summary>An HMAC-SHA256 over all three; the lengths distinguish "ab", "c" from "a", "bc".</summary>
    public void Digest(ReadOnlySpan<byte> key, Span<byte> destination)
    {
        Debug.Assert(_user.Length + _password.Length <= CredentialBytesMax && _hash.Length <= CryptLibrary.HashBytesMax);
        Span<byte> message = stackalloc byte[4 + CredentialBytesMax + CryptData.OutputBytes];
        int bytes = Append(_user, message, 0);
        bytes = Append(_password, message, bytes);
        _hash.CopyTo(message[bytes..]);
        _ = HMACSHA256.HashData(key, message[..(bytes + _hash.Length)], destination);
        CryptographicOperations.ZeroMemory(message);
    }

    /// <summary>Hashes the password, which takes milliseconds.</summary>
    public bool Matches(CryptLibrary library)
    {
        Span<byte> computed = stackalloc byte[CryptLibrary.HashBytesMax];
        return library.TryHash(_password, _hash, computed, out int bytes)
            && CryptographicOperations.FixedTimeEquals(computed[..bytes], _hash);
    }

    private static int Append(ReadOnlySpan<byte> text, Span<byte> message, int at)
    {
        message[at] = (byte)text.Length;
        message[at + 1] = (byte)(text.Length >> 8);
        text.CopyTo(message[(at + 2)..]);
        return at + 2 + text.Length;
    }
}
