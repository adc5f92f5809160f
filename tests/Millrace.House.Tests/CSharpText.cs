namespace Millrace.House.Tests;

/// <summary>
/// Splits C# into what is code and what is comment, each as long as the source with the rest blanked, so that a
/// rule about code is not deceived by a comment or a string. The holes of interpolated strings are code.
/// </summary>
internal sealed class CSharpText
{
    private readonly string _source;
    private readonly char[] _code;
    private readonly char[] _comments;
    private int _at;

    public CSharpText(string source)
    {
        _source = source;
        _code = Blank(source);
        _comments = Blank(source);
        ScanCode(holeBraces: 0);
        Code = new string(_code);
        Comments = new string(_comments);
    }

    public string Code { get; }

    public string Comments { get; }

    private static char[] Blank(string source) => [.. source.Select(character => character == '\n' ? '\n' : ' ')];

    /// <summary>Scans to the end of the source or, in a hole, to the brace that closes it.</summary>
    private void ScanCode(int holeBraces)
    {
        int depth = 0;
        while (_at < _source.Length)
        {
            char current = _source[_at];
            if (Sees("//"))
            {
                Take(_comments, LengthTo("\n"));
            }
            else if (Sees("/*"))
            {
                Take(_comments, LengthTo("*/") + 2);
            }
            else if (current == '#' && IsFirstOfLine())
            {
                ScanDirective();
            }
            else if (current == '\'')
            {
                ScanCharacter();
            }
            else if (TryScanString())
            {
                continue;
            }
            else if (holeBraces > 0 && depth == 0 && current == '}')
            {
                Take(_code, holeBraces);
                return;
            }
            else
            {
                depth += current == '{' ? 1 : current == '}' ? -1 : 0;
                Take(_code, 1);
            }
        }
    }

    /// <summary>Directives hold free text, where an apostrophe opens nothing.</summary>
    private void ScanDirective()
    {
        int end = _at + LengthTo("\n");
        int comment = _source.IndexOf("//", _at, end - _at, StringComparison.Ordinal);
        Take(_code, (comment < 0 ? end : comment) - _at);
        Take(_comments, end - _at);
    }

    private void ScanCharacter()
    {
        int end = _at + 1;
        while (end < _source.Length && _source[end] is not ('\'' or '\n'))
        {
            end += _source[end] == '\\' ? 2 : 1;
        }

        Take(_code, 1);
        if (end < _source.Length && _source[end] == '\'')
        {
            _at = end;
            Take(_code, 1);
        }
    }

    private bool TryScanString()
    {
        int prefix = 0;
        while (_at + prefix < _source.Length && _source[_at + prefix] is '$' or '@')
        {
            prefix++;
        }

        int quotes = 0;
        while (_at + prefix + quotes < _source.Length && _source[_at + prefix + quotes] == '"')
        {
            quotes++;
        }

        if (quotes == 0)
        {
            return false;
        }

        string marks = _source.Substring(_at, prefix);
        int holeBraces = marks.Count(mark => mark == '$');
        bool isVerbatim = marks.Contains('@');
        // Two quotes are an empty string; three or more open a raw one, unless they are escaped quotes.
        int delimiter = quotes == 2 || isVerbatim ? 1 : quotes;
        Take(_code, prefix + delimiter);
        ScanString(delimiter, holeBraces, hasEscapes: delimiter == 1 && !isVerbatim);
        return true;
    }

    private void ScanString(int delimiter, int holeBraces, bool hasEscapes)
    {
        string end = new('"', delimiter);
        string hole = new('{', Math.Max(holeBraces, 1));
        while (_at < _source.Length)
        {
            if (hasEscapes && _source[_at] == '\\')
            {
                _at += 2;
            }
            else if (delimiter == 1 && !hasEscapes && Sees("\"\""))
            {
                _at += 2;
            }
            else if (Sees(end))
            {
                Take(_code, delimiter);
                return;
            }
            else if (delimiter < 3 && holeBraces > 0 && Sees("{{"))
            {
                _at += 2;
            }
            else if (holeBraces > 0 && Sees(hole))
            {
                Take(_code, holeBraces);
                ScanCode(holeBraces);
            }
            else
            {
                _at++;
            }
        }
    }

    private bool Sees(string text) => string.CompareOrdinal(_source, _at, text, 0, text.Length) == 0;

    private bool IsFirstOfLine() =>
        string.IsNullOrWhiteSpace(_source[(_source.LastIndexOf('\n', Math.Max(_at - 1, 0)) + 1).._at]);

    private int LengthTo(string text)
    {
        int end = _source.IndexOf(text, _at, StringComparison.Ordinal);
        return (end < 0 ? _source.Length : end) - _at;
    }

    private void Take(char[] view, int length)
    {
        length = Math.Min(length, _source.Length - _at);
        _source.CopyTo(_at, view, _at, length);
        _at += length;
    }
}
