using System.Globalization;
using System.Numerics;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// What the slow parsers of requests and of responses have in common: they read one character at a time, with limits, and their field
/// lines and framing fields are the same (RFC 9112 sections 5 and 6).
/// </summary>
internal abstract class ReferenceHead(string text, HeadLimits limits)
{
    private const string TokenCharacters = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    private int _start = int.MaxValue / 4;
    private bool _inFirstLine;

    protected int At { get; private set; }

    protected List<(string Name, string Value)> Fields { get; } = [];

    protected List<string> Codings { get; } = [];

    protected BigInteger? ContentLength { get; private set; }

    /// <summary>The refusal of a first line that fills its limit.</summary>
    protected abstract HeadRefusal OfLongLine(string line);

    protected static string Describe(Action read, Func<string> describeComplete)
    {
        try
        {
            read();
            return describeComplete();
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

    protected static bool IsToken(char c) => TokenCharacters.Contains(c);

    /// <summary>The message begins here.</summary>
    protected void BeginLine()
    {
        _start = At;
        _inFirstLine = true;
    }

    protected void EndLine() => _inFirstLine = false;

    protected void ReadFields()
    {
        while (Peek() != '\r')
        {
            ReadFieldLine();
        }

        Next();
        RefuseIf(Next() != '\n', HeadRefusal.BareCr);
    }

    private void ReadFieldLine()
    {
        RefuseIf(Peek() == '\n', HeadRefusal.BareLf);
        RefuseIf(Fields.Count == limits.FieldsMax, HeadRefusal.TooManyFields);
        RefuseIf(Peek() is ' ' or '\t', Fields.Count == 0 ? HeadRefusal.WhitespaceBeforeFirstField : HeadRefusal.ObsFold);
        string name = ReadWhile(IsToken);
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
        Fields.Add((name, value.Trim(' ', '\t')));
        CheckField(name.ToLowerInvariant(), value.Trim(' ', '\t'));
    }

    protected virtual void CheckField(string name, string value)
    {
        switch (name)
        {
            case "content-length":
                RefuseIf(ContentLength is not null, HeadRefusal.RepeatedContentLength);
                RefuseIf(!Regex.IsMatch(value, @"\A[0-9]+\z"), HeadRefusal.BadContentLength);
                ContentLength = BigInteger.Parse(value, CultureInfo.InvariantCulture);
                RefuseIf(ContentLength > long.MaxValue, HeadRefusal.BadContentLength);
                break;
            case "transfer-encoding":
                foreach (string coding in value.Split(','))
                {
                    string codingName = coding.Trim(' ', '\t').Split(';')[0].TrimEnd(' ', '\t').ToLowerInvariant();
                    RefuseIf(codingName == "" || !codingName.All(IsToken), HeadRefusal.BadTransferEncoding);
                    RefuseIf(Codings.Contains("chunked") && codingName == "chunked", HeadRefusal.RepeatedChunked);
                    RefuseIf(Codings.Contains("chunked"), HeadRefusal.ChunkedNotFinal);
                    RefuseIf(codingName == "chunked" && coding.Contains(';'), HeadRefusal.BadTransferEncoding);
                    Codings.Add(codingName);
                }

                break;
        }
    }

    protected void CheckCodings(string version)
    {
        if (Codings.Count > 0)
        {
            RefuseIf(version == "HTTP/1.0", HeadRefusal.TransferEncodingOnHttp10);
            RefuseIf(ContentLength is not null, HeadRefusal.TransferEncodingWithContentLength);
            RefuseIf(Codings[^1] != "chunked", HeadRefusal.ChunkedNotFinal);
            RefuseIf(Codings.Count > 1, HeadRefusal.UnknownTransferCoding);
        }
    }

    protected List<string> ValuesOf(string name)
        => [.. Fields.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(field => field.Value)];

    protected string[] ListOf(string name)
        => [.. ValuesOf(name).SelectMany(value => value.Split(',')).Select(element => element.Trim(' ', '\t').ToLowerInvariant())];

    /// <summary>Whether the connection persists, RFC 9112 section 9.3.</summary>
    protected bool KeepsAlive(string version)
        => !ListOf("connection").Contains("close") && (version != "HTTP/1.0" || ListOf("connection").Contains("keep-alive"));

    protected string ReadWhile(Func<char, bool> belongs)
    {
        var read = new StringBuilder();
        while (belongs(Peek()))
        {
            read.Append(Next());
        }

        return read.ToString();
    }

    protected char Peek()
    {
        if (_inFirstLine && At == _start + limits.RequestLineBytesMax)
        {
            Refuse(OfLongLine(text[_start..At]));
        }

        RefuseIf(At == _start + limits.HeadBytesMax, HeadRefusal.HeadTooLarge);
        return At < text.Length ? text[At] : throw new IncompleteException();
    }

    protected char Next()
    {
        char next = Peek();
        At++;
        return next;
    }

    protected static void RefuseIf(bool condition, HeadRefusal refusal)
    {
        if (condition)
        {
            Refuse(refusal);
        }
    }

    protected static void Refuse(HeadRefusal refusal) => throw new RefusedException(refusal);

    private sealed class IncompleteException : Exception;

    private sealed class RefusedException(HeadRefusal refusal) : Exception
    {
        public HeadRefusal Refusal => refusal;
    }
}
