using System.Text;
using Millrace.Interop.Crypt;

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

    /// <param name="path">The path for messages.</param>
    /// <param name="content">The file's content.</param>
    /// <param name="library">The library that knows which hashes it can verify.</param>
    public static PasswordTable Parse(string path, ReadOnlySpan<byte> content, CryptLibrary library)
    {
        var parser = new PasswordFileParser(path, library);
        ReadOnlySpan<byte> text = content.StartsWith(Encoding.UTF8.Preamble) ? content[Encoding.UTF8.Preamble.Length..] : content;
        foreach (Range line in text.Split((byte)'\n'))
        {
            parser._line++;
            parser.ReadLine(text[line].Trim(" \t\r"u8));
        }

        return new PasswordTable(PasswordTable.DigestOf(content), parser._users);
    }

    private readonly void ReadLine(ReadOnlySpan<byte> line)
    {
        if (line.IsEmpty || line[0] == '#')
        {
            return;
        }

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
