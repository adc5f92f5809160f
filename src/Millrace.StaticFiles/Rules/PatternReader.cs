using System.Buffers;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>Parses the text of a <see cref="PathPattern"/>. Single use.</summary>
internal ref struct PatternReader(string text, PatternSyntax syntax)
{
    /// <summary>The characters of a placeholder's name after its first letter.</summary>
    private static readonly SearchValues<char> NameCharacters =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    private readonly string _text = text;
    private readonly PatternSyntax _syntax = syntax;
    private readonly List<PatternPiece> _pieces = [];
    private readonly List<string> _names = [];
    private readonly List<PatternToken> _tokens = [];
    private readonly List<byte> _literal = [];
    private int _at;

    /// <summary>The index of the placeholder token of the present segment; -1 for none.</summary>
    private int _placeholder = -1;

    /// <summary>Whether the present segment has a '*'.</summary>
    private bool _hasStar;

    /// <summary>The length of the name after the ':' at <paramref name="colon"/>; 0 if there is no placeholder.</summary>
    public static int NameCharactersAt(ReadOnlySpan<char> text, int colon)
    {
        ReadOnlySpan<char> remaining = text[(colon + 1)..];
        if (remaining.IsEmpty || !char.IsAsciiLetter(remaining[0]))
        {
            return 0;
        }

        int end = remaining.IndexOfAnyExcept(NameCharacters);
        return end < 0 ? remaining.Length : end;
    }

    public RuleProblem? TryRead(out PathPattern? pattern)
    {
        pattern = null;
        RuleProblem? problem = CheckWhole();
        if (problem is null && _text[0] is not ('/' or '*'))
        {
            // A name in any directory: "*/name".
            EndPiece();
            _literal.Add((byte)'/');
        }

        while (problem is null && _at < _text.Length)
        {
            problem = ReadNext();
        }

        if (problem is not null)
        {
            return problem;
        }

        EndPiece();
        if (_syntax == PatternSyntax.Route && _pieces.Count > 1)
        {
            _names.Add(PathPattern.SplatName);
        }

        pattern = new PathPattern([.. _pieces], [.. _names]);
        return _names.Distinct(StringComparer.Ordinal).Count() == _names.Count
            ? null
            : Refuse("uses a placeholder's name twice (':splat' is the '*').", "Give each a name of its own.");
    }

    private readonly RuleProblem? CheckWhole()
    {
        if (_text.Length == 0)
        {
            return new RuleProblem("A pattern is empty.", "Write a path, as /assets/*, or * for all.");
        }

        if (_text.Length > PathPattern.CharactersMax)
        {
            return new RuleProblem($"A pattern has {_text.Length} characters.", $"Write at most {PathPattern.CharactersMax}.");
        }

        if (_text.AsSpan().ContainsAnyInRange('\0', ' ') || _text.Contains('\x7f', StringComparison.Ordinal))
        {
            return Refuse("holds a space or a control character.", "Write a space as %20.");
        }

        if (_text.Contains("//", StringComparison.Ordinal))
        {
            return Refuse("holds '//', which no file's path does.", "Write one slash.");
        }

        return _syntax switch
        {
            PatternSyntax.Route when _text[0] != '/' => Refuse("does not start with '/'.", "Write the path from the root, as /old/*."),
            PatternSyntax.Route when _text.AsSpan().ContainsAny('?', '#') => Refuse(
                "holds a '?' or '#'.",
                "Write query parameters as name=value after the path; a fragment is never sent to a server."),
            _ => null,
        };
    }

    private RuleProblem? ReadNext()
    {
        switch (_text[_at])
        {
            case '*':
                return ReadStar();
            case '?':
                EndLiteral();
                _tokens.Add(PatternToken.AnyByte);
                _at++;
                return null;
            case ':' when NameCharactersAt(_text, _at) is > 0 and int length:
                return ReadPlaceholder(length);
            case '/':
                EndSegment();
                _literal.Add((byte)'/');
                _at++;
                return null;
            case '%':
                return ReadEscape();
            default:
                _ = Rune.DecodeFromUtf16(_text.AsSpan(_at), out Rune rune, out int consumed);
                Span<byte> utf8 = stackalloc byte[4];
                _literal.AddRange(utf8[..rune.EncodeToUtf8(utf8)]);
                _at += consumed;
                return null;
        }
    }

    private RuleProblem? ReadStar()
    {
        if (_placeholder >= 0)
        {
            return RefuseMixedSegment();
        }

        while (_at < _text.Length && _text[_at] == '*')
        {
            _at++;
        }

        EndPiece();
        _hasStar = true;
        return _syntax == PatternSyntax.Route && _pieces.Count > 1
            ? Refuse("holds more than one '*'.", "Use :name for single segments.")
            : null;
    }

    private RuleProblem? ReadPlaceholder(int nameCharacters)
    {
        if (_hasStar || _placeholder >= 0)
        {
            return RefuseMixedSegment();
        }

        EndLiteral();
        _placeholder = _tokens.Count;
        _tokens.Add(PatternToken.Placeholder(_names.Count, suffixBytes: 0));
        _names.Add(_text.Substring(_at + 1, nameCharacters));
        _at += 1 + nameCharacters;
        return null;
    }

    private RuleProblem? ReadEscape()
    {
        if (_at + 2 >= _text.Length || !char.IsAsciiHexDigit(_text[_at + 1]) || !char.IsAsciiHexDigit(_text[_at + 2]))
        {
            return Refuse("holds a '%' without two hexadecimal digits.", "Write a literal percent sign as %25.");
        }

        byte value = Convert.FromHexString(_text.AsSpan(_at + 1, 2))[0];
        if (value is 0 or (byte)'/')
        {
            return Refuse("holds %00 or %2F, which no file's name does.", "Leave it out.");
        }

        _literal.Add(value);
        _at += 3;
        return null;
    }

    /// <summary>Sets how many bytes of its segment follow a placeholder.</summary>
    private void EndSegment()
    {
        if (_placeholder >= 0)
        {
            EndLiteral();
            int suffix = 0;
            for (int i = _placeholder + 1; i < _tokens.Count; i++)
            {
                suffix += _tokens[i].BytesMin;
            }

            _tokens[_placeholder] = PatternToken.Placeholder(_tokens[_placeholder].Capture, suffix);
        }

        _placeholder = -1;
        _hasStar = false;
    }

    private readonly void EndLiteral()
    {
        if (_literal.Count > 0)
        {
            _tokens.Add(PatternToken.Literal([.. _literal]));
            _literal.Clear();
        }
    }

    private void EndPiece()
    {
        EndSegment();
        EndLiteral();
        _pieces.Add(new PatternPiece([.. _tokens]));
        _tokens.Clear();
    }

    private readonly RuleProblem RefuseMixedSegment() =>
        Refuse("has a placeholder beside a '*' or another placeholder in one segment.", "Give it a segment of its own.");

    private readonly RuleProblem Refuse(string cause, string remedy) =>
        new($"The pattern '{FieldValidation.Shown(_text)}' {cause}", remedy);
}

/// <summary>The use of a <see cref="PathPattern"/>, which determines its syntax.</summary>
internal enum PatternSyntax
{
    /// <summary>Selects files: any number of '*', and '?'. Without a leading '/' it matches at any depth.</summary>
    Glob,

    /// <summary>Selects requests and captures: starts with '/', at most one '*', no '?' (it would start a query).</summary>
    Route,
}
