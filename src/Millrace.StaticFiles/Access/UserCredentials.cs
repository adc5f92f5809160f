using System.Diagnostics;
using System.Security.Cryptography;
using Millrace.Interop.Crypt;

namespace Millrace.StaticFiles.Access;

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
