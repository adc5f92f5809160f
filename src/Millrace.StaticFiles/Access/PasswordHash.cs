using System.Buffers;
using System.Buffers.Text;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Decides which password hashes are accepted: the slow and salted ones of <c>crypt(5)</c> (bcrypt, yescrypt, SHA-512 and SHA-256 crypt),
/// complete to the last character. A truncated hash would match no password, without an apparent reason.
/// </summary>
internal static class PasswordHash
{
    private const int BcryptBytes = 60;
    private const int Sha256DigestBytes = 43;
    private const int Sha512DigestBytes = 86;
    private const int YescryptDigestBytes = 43;

    private static readonly SearchValues<byte> Base64 =
        SearchValues.Create("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    /// <summary>Why a hash is refused, as the predicate of a sentence; null if it is accepted.</summary>
    public static string? RefusalOf(ReadOnlySpan<byte> hash)
    {
        if (hash.StartsWith("$2a$"u8) || hash.StartsWith("$2b$"u8) || hash.StartsWith("$2y$"u8))
        {
            return IsBcrypt(hash) ? null : $"has a bcrypt hash that is not complete: it takes {BcryptBytes} characters";
        }

        if (hash.StartsWith("$6$"u8))
        {
            return IsSha(hash[3..], Sha512DigestBytes) ? null : "has a SHA-512 hash ($6$) that is not complete";
        }

        if (hash.StartsWith("$5$"u8))
        {
            return IsSha(hash[3..], Sha256DigestBytes) ? null : "has a SHA-256 hash ($5$) that is not complete";
        }

        if (hash.StartsWith("$y$"u8))
        {
            return IsYescrypt(hash[3..]) ? null : "has a yescrypt hash that is not complete";
        }

        return RefusedKind(hash);
    }

    private static string RefusedKind(ReadOnlySpan<byte> hash)
    {
        if (hash.StartsWith("$apr1$"u8) || hash.StartsWith("$1$"u8))
        {
            return "has an MD5 hash ($apr1$ or $1$), which a graphics card guesses by the million a second";
        }

        if (hash.StartsWith("{SHA}"u8))
        {
            return "has an unsalted SHA-1 hash ({SHA}), which a graphics card guesses by the billion a second";
        }

        return hash.IsEmpty ? "has no hash"
            : hash[0] is (byte)'$' or (byte)'{' ? "has an unknown kind of hash"
            : hash[0] is (byte)'*' or (byte)'!' ? "is locked (* or !), which this file does not support"
            : "has a plain password or a DES hash";
    }

    /// <summary>$2y$NN$ and 53 characters; NN is the logarithm of the rounds.</summary>
    private static bool IsBcrypt(ReadOnlySpan<byte> hash) =>
        hash.Length == BcryptBytes
        && Utf8Parser.TryParse(hash.Slice(4, 2), out byte cost, out int digits) && digits == 2 && cost is >= 4 and <= 31
        && hash[6] == '$'
        && !hash[7..].ContainsAnyExcept(Base64);

    /// <summary>[rounds=N$]salt$digest</summary>
    private static bool IsSha(ReadOnlySpan<byte> remaining, int digestBytes)
    {
        if (remaining.StartsWith("rounds="u8))
        {
            remaining = remaining["rounds="u8.Length..];
            bool hasRounds = Utf8Parser.TryParse(remaining, out int rounds, out int digits) && rounds is >= 1000 and <= 999_999_999;
            if (!hasRounds || remaining[0] == '+' || digits == remaining.Length || remaining[digits] != '$')
            {
                return false;
            }

            remaining = remaining[(digits + 1)..];
        }

        int saltBytes = remaining.IndexOf((byte)'$');
        return saltBytes is >= 0 and <= 16 && IsDigest(remaining[(saltBytes + 1)..], digestBytes);
    }

    /// <summary>parameters$salt$digest</summary>
    private static bool IsYescrypt(ReadOnlySpan<byte> remaining)
    {
        int parameterBytes = remaining.IndexOf((byte)'$');
        if (parameterBytes <= 0 || remaining[..parameterBytes].ContainsAnyExcept(Base64))
        {
            return false;
        }

        remaining = remaining[(parameterBytes + 1)..];
        int saltBytes = remaining.IndexOf((byte)'$');
        return saltBytes >= 0
            && !remaining[..saltBytes].ContainsAnyExcept(Base64)
            && IsDigest(remaining[(saltBytes + 1)..], YescryptDigestBytes);
    }

    private static bool IsDigest(ReadOnlySpan<byte> text, int bytes) => text.Length == bytes && !text.ContainsAnyExcept(Base64);
}
