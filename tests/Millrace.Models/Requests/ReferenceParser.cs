using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Numerics;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// A slow parser of request heads, written from the RFCs one character at a time, with strings and regular expressions. It shares
/// nothing with the real one but the names of the results.
/// </summary>
internal sealed class ReferenceParser
{
    private const string TokenCharacters = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    private static readonly Dictionary<string, FieldName> KnownNames = Enum.GetValues<FieldName>()
        .Where(name => name != FieldName.Unknown)
        .ToDictionary(SpellingOf, StringComparer.OrdinalIgnoreCase);

    private readonly string _text;
    private readonly HeadLimits _limits;
    private readonly List<(string Name, string Value)> _fields = [];
    private readonly List<string> _codings = [];
    private int _at;
    private int _start;
    private bool _inRequestLine;
    private string _method = "";
    private string _target = "";
    private string _version = "";
    private BigInteger? _contentLength;

    private ReferenceParser(string text, HeadLimits limits)
    {
        _text = text;
        _limits = limits;
    }

    /// <summary>The result in the words of <see cref="HeadDescription"/>.</summary>
    public static string Describe(byte[] bytes, HeadLimits limits)
    {
        var parser = new ReferenceParser(Encoding.Latin1.GetString(bytes), limits);
        try
        {
            parser.ReadHead();
            return parser.DescribeComplete();
        }
        catch (IncompleteException)
        {
            return "incomplete";
        }
        catch (RefusedException refused)
        {
            return $"refused {refused.Refusal}";
        }
    }

    private void ReadHead()
    {
        _start = int.MaxValue / 4;
        int emptyLines = 0;
        while (Peek() is '\r' or '\n')
        {
            if (Peek() == '\r' && emptyLines == 4)
            {
                Refuse(HeadRefusal.TooManyEmptyLines);
            }

            RefuseIf(Next() == '\n', HeadRefusal.BareLf);
            RefuseIf(Next() != '\n', HeadRefusal.BareCr);
            emptyLines++;
        }

        _start = _at;
        _inRequestLine = true;
        ReadRequestLine();
        _inRequestLine = false;
        while (Peek() != '\r')
        {
            ReadFieldLine();
        }

        Next();
        RefuseIf(Next() != '\n', HeadRefusal.BareCr);
        CheckFields();
    }

    private void ReadRequestLine()
    {
        _method = ReadWhile(c => TokenCharacters.Contains(c));
        char space = Next();
        RefuseIf(space == '\n', HeadRefusal.BareLf);
        RefuseIf(space != ' ' || _method == "", HeadRefusal.BadMethod);

        _target = ReadWhile(c => c > ' ' && c < '\x7F' && c != '#');
        space = Next();
        RefuseIf(space == '\n', HeadRefusal.BareLf);
        RefuseIf(space == '\r' && _target != "", HeadRefusal.MissingVersion);
        RefuseIf(space != ' ' || _target == "", HeadRefusal.BadTarget);

        foreach (char pattern in "HTTP/9.9")
        {
            char c = Next();
            RefuseIf(c == '\n', HeadRefusal.BareLf);
            RefuseIf(pattern == '9' ? c < '0' || c > '9' : c != pattern, HeadRefusal.BadVersion);
            _version += c;
        }

        RefuseIf(_version[5] != '1', HeadRefusal.VersionNotSupported);
        char cr = Next();
        RefuseIf(cr == '\n', HeadRefusal.BareLf);
        RefuseIf(cr != '\r', HeadRefusal.BadVersion);
        RefuseIf(Next() != '\n', HeadRefusal.BareCr);
        RefuseIf(TargetMatch() is null, HeadRefusal.BadTarget);
    }

    private void ReadFieldLine()
    {
        RefuseIf(Peek() == '\n', HeadRefusal.BareLf);
        RefuseIf(_fields.Count == _limits.FieldsMax, HeadRefusal.TooManyFields);
        RefuseIf(Peek() is ' ' or '\t', _fields.Count == 0 ? HeadRefusal.WhitespaceBeforeFirstField : HeadRefusal.ObsFold);
        string name = ReadWhile(c => TokenCharacters.Contains(c));
        char colon = Next();
        RefuseIf(colon == ':' && name == "", HeadRefusal.EmptyFieldName);
        RefuseIf(colon is ' ' or '\t', HeadRefusal.SpaceBeforeColon);
        RefuseIf(colon == '\r', HeadRefusal.MissingColon);
        RefuseIf(colon == '\n', HeadRefusal.BareLf);
        RefuseIf(colon != ':', HeadRefusal.BadFieldName);

        string value = ReadWhile(c => c == '\t' || (c >= ' ' && c != '\x7F'));
        char cr = Next();
        RefuseIf(cr == '\n', HeadRefusal.BareLf);
        RefuseIf(cr != '\r', HeadRefusal.BadFieldValue);
        RefuseIf(Next() != '\n', HeadRefusal.BareCr);
        _fields.Add((name, value.Trim(' ', '\t')));
        CheckField(name.ToLowerInvariant(), value.Trim(' ', '\t'));
    }

    private void CheckField(string name, string value)
    {
        switch (name)
        {
            case "host":
                RefuseIf(ValuesOf("host").Count > 1, HeadRefusal.RepeatedHost);
                RefuseIf(!IsHost(value), HeadRefusal.BadHost);
                break;
            case "content-length":
                RefuseIf(_contentLength is not null, HeadRefusal.RepeatedContentLength);
                RefuseIf(!Regex.IsMatch(value, @"\A[0-9]+\z"), HeadRefusal.BadContentLength);
                _contentLength = BigInteger.Parse(value, CultureInfo.InvariantCulture);
                RefuseIf(_contentLength > long.MaxValue, HeadRefusal.BadContentLength);
                break;
            case "transfer-encoding":
                foreach (string coding in value.Split(','))
                {
                    string codingName = coding.Trim(' ', '\t').Split(';')[0].TrimEnd(' ', '\t').ToLowerInvariant();
                    RefuseIf(codingName == "" || codingName.Any(c => !TokenCharacters.Contains(c)), HeadRefusal.BadTransferEncoding);
                    RefuseIf(_codings.Contains("chunked") && codingName == "chunked", HeadRefusal.RepeatedChunked);
                    RefuseIf(_codings.Contains("chunked"), HeadRefusal.ChunkedNotFinal);
                    RefuseIf(codingName == "chunked" && coding.Contains(';'), HeadRefusal.BadTransferEncoding);
                    _codings.Add(codingName);
                }

                break;
        }
    }

    private void CheckFields()
    {
        if (_codings.Count > 0)
        {
            RefuseIf(_version == "HTTP/1.0", HeadRefusal.TransferEncodingOnHttp10);
            RefuseIf(_contentLength is not null, HeadRefusal.TransferEncodingWithContentLength);
            RefuseIf(_codings[^1] != "chunked", HeadRefusal.ChunkedNotFinal);
            RefuseIf(_codings.Count > 1, HeadRefusal.UnknownTransferCoding);
        }

        RefuseIf(_version != "HTTP/1.0" && ValuesOf("host").Count == 0, HeadRefusal.MissingHost);
    }

    private string DescribeComplete()
    {
        Match target = TargetMatch()!;
        string authority = target.Groups["authority"].Value;
        authority = authority != "" ? authority : ValuesOf("host").FirstOrDefault("");
        string version = _version == "HTTP/1.0" ? "Http10" : "Http11";
        string body = _codings.Count > 0 ? "Chunked" : _contentLength > 0 ? "Length" : "None";
        string[] options = ListOf("connection");
        bool keepAlive = !options.Contains("close") && (version == "Http11" || options.Contains("keep-alive"));
        bool expect = version == "Http11" && ListOf("expect").Contains("100-continue");

        var text = new StringBuilder();
        text.AppendLine($"complete {_at} {MethodOf(_method)} {_method} {version}");
        text.AppendLine($"{FormOf(target)} {_target}");
        text.AppendLine($"path {target.Groups["path"].Value} query {target.Groups["query"].Value} authority {authority}");
        text.AppendLine($"{body} {_contentLength ?? 0} keep-alive {keepAlive} expect {expect}");
        foreach ((string name, string value) in _fields)
        {
            text.AppendLine($"{NameOf(name)}|{name}|{value}");
        }

        foreach (FieldName name in Enum.GetValues<FieldName>().Where(n => n != FieldName.Unknown))
        {
            string[] values = [.. _fields.Where(field => NameOf(field.Name) == name).Select(field => field.Value)];
            if (values.Length > 0)
            {
                text.AppendLine($"{name} first {values[0]} all {string.Join(' ', values.Select(value => $"<{value}>"))}");
            }
        }

        return text.ToString();
    }

    // "If-None-Match" is IfNoneMatch: the spelling without its dashes, which must stand between words.
    private static string SpellingOf(FieldName name)
        => string.Join('-', Regex.Matches(name.ToString(), "[A-Z][a-z]*").Select(word => word.Value));

    private static FieldName NameOf(string name) => KnownNames.GetValueOrDefault(name);

    private static Method MethodOf(string method)
        => method.All(char.IsAsciiLetterUpper) && Enum.TryParse(method, ignoreCase: true, out Method known) ? known : Method.Unknown;

    private Match? TargetMatch()
    {
        string pattern = _method == "CONNECT" ? "(?<authority>.+)"
            : _target == "*" && _method == "OPTIONS" ? @"\*"
            : _target[0] == '/' ? @"(?<path>[^?]*)(?<query>(\?.*)?)"
            : @"(?i:https?)://(?<authority>[^/?]+)(?<path>[^?]*)(?<query>(\?.*)?)";
        Match match = Regex.Match(_target, $@"\A{pattern}\z");
        string authority = match.Groups["authority"].Value;
        bool isValid = match.Success
            && (authority == "" || (IsHost(authority) && authority[0] != ':'))
            && (_method != "CONNECT" || Regex.IsMatch(authority, @":[0-9]+\z"));
        return isValid && !(_method == "CONNECT" && authority[0] == '[' && authority[^1] == ']') ? match : null;
    }

    private string FormOf(Match target) => _method == "CONNECT" ? "Authority"
        : _target == "*" ? "Asterisk"
        : target.Groups["authority"].Success ? "Absolute"
        : "Origin";

    private static bool IsHost(string text)
    {
        const string Name = @"(?<name>([A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f][0-9A-Fa-f])*)";
        const string Future = @"\[[vV][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+\]";
        Match match = Regex.Match(text, $@"\A({Name}|{Future}|\[(?<six>[0-9A-Fa-f:.]+)\])(:0*(?<port>[0-9]*))?\z");
        string port = match.Groups["port"].Value;
        return match.Success
            && (!match.Groups["six"].Success || IsIpv6(match.Groups["six"].Value))
            && (port == "" || (port.Length < 6 && int.Parse(port, CultureInfo.InvariantCulture) < 65536))
            && IsName(match.Groups["name"].Value);
    }

    // What DNS can hold: labels of 1 to 63 in a name of 253, and perhaps a final dot.
    private static bool IsName(string text)
        => text == "" || Regex.IsMatch(text, @"\A(?=.{1,253}\.?\z)[^.]{1,63}(\.[^.]{1,63})*\.?\z", RegexOptions.Singleline);

    private static bool IsIpv6(string text)
        => text.Contains(':') && IPAddress.TryParse(text, out IPAddress? address) && address.AddressFamily == AddressFamily.InterNetworkV6;

    private List<string> ValuesOf(string name)
        => [.. _fields.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(field => field.Value)];

    private string[] ListOf(string name)
        => [.. ValuesOf(name).SelectMany(value => value.Split(',')).Select(element => element.Trim(' ', '\t').ToLowerInvariant())];

    private string ReadWhile(Func<char, bool> belongs)
    {
        var read = new StringBuilder();
        while (belongs(Peek()))
        {
            read.Append(Next());
        }

        return read.ToString();
    }

    private char Peek()
    {
        if (_inRequestLine && _at == _start + _limits.RequestLineBytesMax)
        {
            Refuse(_text[_start.._at].Contains(' ') ? HeadRefusal.RequestLineTooLong : HeadRefusal.MethodTooLong);
        }

        RefuseIf(_at == _start + _limits.HeadBytesMax, HeadRefusal.HeadTooLarge);
        return _at < _text.Length ? _text[_at] : throw new IncompleteException();
    }

    private char Next()
    {
        char next = Peek();
        _at++;
        return next;
    }

    private static void RefuseIf(bool condition, HeadRefusal refusal)
    {
        if (condition)
        {
            Refuse(refusal);
        }
    }

    private static void Refuse(HeadRefusal refusal) => throw new RefusedException(refusal);

    private sealed class IncompleteException : Exception;

    private sealed class RefusedException(HeadRefusal refusal) : Exception
    {
        public HeadRefusal Refusal => refusal;
    }
}
