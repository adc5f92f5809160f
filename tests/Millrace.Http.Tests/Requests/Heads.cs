using System.Text;

namespace Millrace.Http.Tests;

/// <summary>Parses heads written as strings (Latin-1, so that every byte can be written) and shows what came of it.</summary>
internal static class Heads
{
    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    public static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    public static string Text(this TextRange range, byte[] bytes) => Text(range.In(bytes));

    /// <summary>Parses a head that is expected to be complete and to be all of the text.</summary>
    public static (RequestHead Head, byte[] Bytes) Complete(string text)
    {
        byte[] bytes = Bytes(text);
        var head = new RequestHead();
        Assert.Equal(HeadResult.Complete(bytes.Length), RequestHeadParser.Parse(bytes, head, HeadLimits.Default));
        return (head, bytes);
    }

    public static HeadResult Parse(string text) => Parse(text, HeadLimits.Default);

    public static HeadResult Parse(string text, HeadLimits limits) => RequestHeadParser.Parse(Bytes(text), new RequestHead(), limits);

    public static void IsRefused(HeadRefusal refusal, string text) => Assert.Equal(HeadResult.Refused(refusal), Parse(text));

    /// <summary>The shortest valid head with these field lines, each ended by CRLF, behind Host.</summary>
    public static string WithFields(string lines) => $"GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n";

    public static void FieldsAreRefused(HeadRefusal refusal, string lines) => IsRefused(refusal, WithFields(lines));

    /// <summary>Everything a caller can learn from a result, as text: two parsers agree when their texts are equal.</summary>
    public static string Describe(HeadResult result, RequestHead head, byte[] bytes)
    {
        if (!result.IsComplete)
        {
            return result.IsRefused ? $"refused {result.Refusal}" : "incomplete";
        }

        var text = new StringBuilder();
        text.AppendLine($"complete {result.Consumed} {head.Method} {head.MethodText.Text(bytes)} {head.Version}");
        text.AppendLine($"{head.Target.Form} {head.Target.Text.Text(bytes)}");
        text.Append($"path {head.Target.Path.Text(bytes)} query {head.Target.Query.Text(bytes)} ");
        text.AppendLine($"authority {head.Authority.Text(bytes)}");
        text.AppendLine($"{head.Body} {head.ContentLength} keep-alive {head.KeepAlive} expect {head.ExpectContinue}");
        foreach (FieldLine line in head.Fields)
        {
            text.AppendLine($"{line.Name}|{line.NameText.Text(bytes)}|{line.Value.Text(bytes)}");
        }

        foreach (FieldName name in Enum.GetValues<FieldName>())
        {
            if (head.TryGet(name, out TextRange first))
            {
                text.Append($"{name} first {first.Text(bytes)} all");
                foreach (TextRange value in head.ValuesOf(name))
                {
                    text.Append($" <{value.Text(bytes)}>");
                }

                text.AppendLine();
            }
        }

        return text.ToString();
    }
}
