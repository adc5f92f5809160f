using System.Buffers;
using System.Text;
using Millrace.StaticFiles.Access;

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

    /// <summary>Throws <see cref="SiteException"/> for a text that is not a pattern.</summary>
    public PathPattern Read()
    {
        CheckWhole();
        if (_text[0] is not ('/' or '*'))
        {
            // A name in any directory: "*/name".
            EndPiece();
            _literal.Add((byte)'/');
        }

        while (_at < _text.Length)
        {
            ReadNext();
        }

        EndPiece();
        if (_syntax == PatternSyntax.Route && _pieces.Count > 1)
        {
            _names.Add(PathPattern.SplatName);
        }

        return _names.Distinct(StringComparer.Ordinal).Count() == _names.Count
            ? new PathPattern([.. _pieces], [.. _names])
            : throw Refuse("uses a placeholder's name twice (':splat' is the '*').", "Give each a name of its own.");
    }

    private readonly void CheckWhole()
    {
        if (_text.Length == 0)
        {
            throw new SiteException("A pattern is empty.", "Write a path such as /assets/*, or * for all.");
        }

        if (_text.Length > PathPattern.CharactersMax)
        {
            throw new SiteException($"A pattern has {_text.Length} characters.", $"Write at most {PathPattern.CharactersMax}.");
        }

        if (_text.AsSpan().ContainsAnyInRange('\0', ' ') || _text.Contains('\x7f', StringComparison.Ordinal))
        {
            throw Refuse("holds a space or a control character.", "Write a space as %20.");
        }

        if (_text.Contains("//", StringComparison.Ordinal))
        {
            throw Refuse("holds '//', which no file's path does.", "Write one slash.");
        }

        if (_syntax == PatternSyntax.Route && _text[0] != '/')
        {
            throw Refuse("does not start with '/'.", "Write the path from the root, such as /old/*.");
        }

        if (_syntax == PatternSyntax.Route && _text.AsSpan().ContainsAny('?', '#'))
        {
            throw Refuse(
                "holds a '?' or '#'.", "Write query parameters as name=value after the path; a fragment is never sent to a server.");
        }
    }

    private void ReadNext()
    {
        switch (_text[_at])
        {
            case '*':
                ReadStar();
                break;
            case '?':
                EndLiteral();
                _tokens.Add(new PatternToken(PatternTokenKind.AnyByte, []));
                _at++;
                break;
            case ':' when NameCharactersAt(_text, _at) is > 0 and int length:
                ReadPlaceholder(length);
                break;
            case '/':
                EndSegment();
                _literal.Add((byte)'/');
                _at++;
                break;
            case '%':
                ReadEscape();
                break;
            default:
                _ = Rune.DecodeFromUtf16(_text.AsSpan(_at), out Rune rune, out int consumed);
                Span<byte> utf8 = stackalloc byte[4];
                _literal.AddRange(utf8[..rune.EncodeToUtf8(utf8)]);
                _at += consumed;
                break;
        }
    }

    private void ReadStar()
    {
        if (_placeholder >= 0)
        {
            throw RefuseMixedSegment();
        }

        while (_at < _text.Length && _text[_at] == '*')
        {
            _at++;
        }

        EndPiece();
        _hasStar = true;
        if (_syntax == PatternSyntax.Route && _pieces.Count > 1)
        {
            throw Refuse("holds more than one '*'.", "Use :name for single segments.");
        }
    }

    private void ReadPlaceholder(int nameCharacters)
    {
        if (_hasStar || _placeholder >= 0)
        {
            throw RefuseMixedSegment();
        }

        EndLiteral();
        _placeholder = _tokens.Count;
        _tokens.Add(new PatternToken(PatternTokenKind.Placeholder, [], _names.Count));
        _names.Add(_text.Substring(_at + 1, nameCharacters));
        _at += 1 + nameCharacters;
    }

    private void ReadEscape()
    {
        if (_at + 2 >= _text.Length || !char.IsAsciiHexDigit(_text[_at + 1]) || !char.IsAsciiHexDigit(_text[_at + 2]))
        {
            throw Refuse("holds a '%' without two hexadecimal digits.", "Write a literal percent sign as %25.");
        }

        byte value = Convert.FromHexString(_text.AsSpan(_at + 1, 2))[0];
        if (value is 0 or (byte)'/')
        {
            throw Refuse("holds %00 or %2F, which no file's name does.", "Leave it out.");
        }

        _literal.Add(value);
        _at += 3;
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

            _tokens[_placeholder] = _tokens[_placeholder] with { SuffixBytes = suffix };
        }

        _placeholder = -1;
        _hasStar = false;
    }

    private readonly void EndLiteral()
    {
        if (_literal.Count > 0)
        {
            byte[] literal = [.. _literal];
            _tokens.Add(new PatternToken(
                PatternTokenKind.Literal, _syntax == PatternSyntax.FoldedGlob ? CaseFolding.Fold(literal) : literal));
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

    private readonly SiteException RefuseMixedSegment() =>
        Refuse("has a placeholder beside a '*' or another placeholder in one segment.", "Give it a segment of its own.");

    private readonly SiteException Refuse(string cause, string remedy) =>
        new($"The pattern '{FieldValidation.Shown(_text)}' {cause}", remedy);
}

/// <summary>The use of a <see cref="PathPattern"/>, which determines its syntax.</summary>
internal enum PatternSyntax
{
    /// <summary>Selects files: any number of '*', and '?'. Without a leading '/' it matches at any depth.</summary>
    Glob,

    /// <summary>The same, for paths whose case was folded.</summary>
    FoldedGlob,

    /// <summary>Selects requests and captures: starts with '/', at most one '*', no '?' (it would start a query).</summary>
    Route,
}
