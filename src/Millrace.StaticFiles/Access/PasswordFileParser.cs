using System.Buffers;
using System.Buffers.Text;
using System.Text;
using Millrace.Interop.Crypt;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Parses a password file as htpasswd writes it: lines of "user:hash", blank lines, and comments (#). As in nginx and Apache, text after a
/// second colon is ignored. Throws <see cref="SiteException"/> with file, line and remedy, but never a hash: a file with one invalid line
/// is not used at all.
/// </summary>
internal ref struct PasswordFileParser
{
    /// <summary>Names are written to logs; no form asks for longer ones.</summary>
    public const int UserBytesMax = 255;

    private const string HashRemedy = "Make a new one with 'htpasswd -B FILE USER', or with 'mkpasswd' and an editor.";

    private readonly string _path;
    private readonly CryptLibrary _library;
    private readonly Dictionary<string, int> _lineOfUser = new(StringComparer.Ordinal);
    private readonly List<KeyValuePair<byte[], byte[]>> _users = [];
    private int _line;

    private PasswordFileParser(string path, CryptLibrary library)
    {
        _path = path;
        _library = library;
    }

    public static PasswordTable Parse(string path, ReadOnlySpan<byte> content, CryptLibrary library)
    {
        var parser = new PasswordFileParser(path, library);
        var lines = new TextLines(content);
        while (lines.MoveNext())
        {
            parser._line = lines.Number;
            parser.ReadLine(lines.Current);
        }

        return new PasswordTable(PasswordTable.DigestOf(content), parser._users);
    }

    private readonly void ReadLine(ReadOnlySpan<byte> line)
    {
        int colon = line.IndexOf((byte)':');
        if (colon < 0)
        {
            throw Refused("has no colon between a user and a hash", "Write 'user:hash', or '#' in front of a comment.");
        }

        ReadOnlySpan<byte> user = line[..colon];
        if (user.IsEmpty || user.Length > UserBytesMax || user.ContainsAnyInRange((byte)0, (byte)0x1f) || user.Contains((byte)0x7f))
        {
            throw Refused(
                "has an empty user name, one that is too long, or one with control characters",
                $"Give names of 1 to {UserBytesMax} bytes.");
        }

        ReadOnlySpan<byte> remaining = line[(colon + 1)..];
        int secondColon = remaining.IndexOf((byte)':');
        Add(user, secondColon < 0 ? remaining : remaining[..secondColon]);
    }

    private readonly void Add(ReadOnlySpan<byte> user, ReadOnlySpan<byte> hash)
    {
        if (PasswordHash.RefusalOf(hash) is string refusal)
        {
            throw Refused(refusal, HashRemedy);
        }

        if (!_library.Knows(hash))
        {
            throw Refused("has a kind of hash that this system's libcrypt was built without", HashRemedy);
        }

        // Latin-1 maps bytes to characters one to one: equal strings have equal bytes.
        if (!_lineOfUser.TryAdd(Encoding.Latin1.GetString(user), _line))
        {
            int first = _lineOfUser[Encoding.Latin1.GetString(user)];
            throw Refused($"repeats the user of line {first}", "Remove one of the two.");
        }

        _users.Add(new(user.ToArray(), hash.ToArray()));
    }

    private readonly SiteException Refused(string predicate, string remedy) => new($"{_path}:{_line} {predicate}.", remedy);
}

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
            return "has an MD5 hash ($apr1$ or $1$), which is too fast to resist guessing";
        }

        if (hash.StartsWith("{SHA}"u8))
        {
            return "has an unsalted SHA-1 hash ({SHA}), which is too fast to resist guessing";
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
