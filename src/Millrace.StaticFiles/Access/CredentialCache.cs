using System.Diagnostics;
using System.Security.Cryptography;
using Millrace.Interop.Crypt;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Caches recently verified credentials, so that a browser's next request costs a microsecond and not a hash. It holds no passwords: an
/// entry is an HMAC, with a key of this cache, over user, password and the hash that they matched. Its size is fixed; the oldest of four
/// neighbours is replaced. Callable on any thread; a lookup allocates nothing and takes no lock.
/// </summary>
internal sealed class CredentialCache(TimeProvider time)
{
    /// <summary>
    /// How long an entry is valid. A change of the user's hash invalidates it earlier, because the hash is part of its key.
    /// </summary>
    public static readonly TimeSpan Lifetime = TimeSpan.FromMinutes(5);

    /// <summary>Sets of four: 4,096 active users within five minutes, in about half a MiB.</summary>
    public const int SetCount = 1024;
    private const int Ways = 4;

    private readonly byte[] _key = RandomNumberGenerator.GetBytes(HMACSHA256.HashSizeInBytes);
    private readonly CredentialCacheEntry?[] _entries = new CredentialCacheEntry?[SetCount * Ways];

    public bool Contains(in UserCredentials credentials)
    {
        Span<byte> digest = stackalloc byte[HMACSHA256.HashSizeInBytes];
        credentials.Digest(_key, digest);
        foreach (ref CredentialCacheEntry? slot in SetOf(digest))
        {
            if (Volatile.Read(ref slot) is CredentialCacheEntry entry && CryptographicOperations.FixedTimeEquals(entry.Digest, digest))
            {
                return !IsExpired(entry);
            }
        }

        return false;
    }

    /// <summary>Adds an entry. Of two threads that add concurrently one may lose its entry: those credentials are verified again.</summary>
    public void Add(in UserCredentials credentials)
    {
        byte[] digest = new byte[HMACSHA256.HashSizeInBytes];
        credentials.Digest(_key, digest);
        Span<CredentialCacheEntry?> set = SetOf(digest);
        ref CredentialCacheEntry? oldest = ref set[0];
        foreach (ref CredentialCacheEntry? slot in set)
        {
            CredentialCacheEntry? entry = Volatile.Read(ref slot);
            if (entry is null || entry.Digest.AsSpan().SequenceEqual(digest))
            {
                oldest = ref slot;
                break;
            }

            if (entry.AddedAt < Volatile.Read(ref oldest)!.AddedAt)
            {
                oldest = ref slot;
            }
        }

        Volatile.Write(ref oldest, new CredentialCacheEntry(digest, time.GetTimestamp()));
    }

    private bool IsExpired(CredentialCacheEntry entry) => time.GetElapsedTime(entry.AddedAt) >= Lifetime;

    /// <summary>An HMAC is pseudo-random, and an attacker cannot choose it.</summary>
    private Span<CredentialCacheEntry?> SetOf(ReadOnlySpan<byte> digest) =>
        _entries.AsSpan((digest[0] | (digest[1] << 8)) % SetCount * Ways, Ways);

    private sealed record CredentialCacheEntry(byte[] Digest, long AddedAt);
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
