namespace Millrace.Http.Tests;

/// <summary>Parses heads written as strings and shows what came of it.</summary>
internal static class Heads
{
    /// <summary>Parses a head that is expected to be complete and to be all of the text.</summary>
    public static (RequestHead Head, byte[] Bytes) Complete(string text)
    {
        byte[] bytes = Latin1.Bytes(text);
        var head = new RequestHead();
        Assert.Equal(HeadResult.Complete(bytes.Length), RequestHeadParser.Parse(bytes, head, HeadLimits.Default));
        return (head, bytes);
    }

    public static HeadResult Parse(string text) => Parse(text, HeadLimits.Default);

    public static HeadResult Parse(string text, HeadLimits limits) => RequestHeadParser.Parse(Latin1.Bytes(text), new RequestHead(), limits);

    public static void IsRefused(HeadRefusal refusal, string text) => Assert.Equal(HeadResult.Refused(refusal), Parse(text));

    /// <summary>The shortest valid head with these field lines, each ended by CRLF, after Host.</summary>
    public static string WithFields(string lines) => $"GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n";

    public static void FieldsAreRefused(HeadRefusal refusal, string lines) => IsRefused(refusal, WithFields(lines));
}
