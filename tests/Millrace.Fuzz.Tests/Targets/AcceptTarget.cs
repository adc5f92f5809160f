using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Accept (RFC 9110 section 12.5.1), as far as there is a choice.</summary>
internal sealed class AcceptTarget : FuzzTarget
{
    public override string Name => "accept";

    public override int InputBytesMax => 256;

    public override int OutcomesMin => 10;

    public override IReadOnlyList<string> Words =>
    [
        "application/json", "text/html", "text/*", "application/*", "*/*", ";q=0", ";q=0.5", ";q=1", ";q=0.501", ";Q=", ";level=1",
        ";a=\"b,c\"", "\"", "\\\"", "\\", ", ", ";", "/", "TEXT/HTML",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> ranges = Enumerable.Range(0, random.Next(5)).Select(_ =>
            random.Pick("application/json", "text/html", "text/*", "*/*", "a/b", "application/*")
            + random.Pick("", "", ";q=0", ";q=0.5", ";v=1", ";v=\"a;q=1,text/html\"", " ; q=0.4;v=1"));
        return Latin1.Bytes(string.Join(random.Pick(",", ", "), ranges));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string text = Latin1.Text(input);
        MediaPreference json = MediaPreference.Find(input, "application"u8, "json"u8);
        MediaPreference html = MediaPreference.Find(input, "text"u8, "html"u8);
        Agree($"{ReferenceAccept.Find(text, "application", "json")}", $"{(json.Precision, json.Weight)}", "application/json");
        Agree($"{ReferenceAccept.Find(text, "text", "html")}", $"{(html.Precision, html.Weight)}", "text/html");

        MediaPreference plain = MediaPreference.Find(input, "text"u8, "plain"u8);
        Agree($"{ReferenceAccept.Find(text, "text", "plain")}", $"{(plain.Precision, plain.Weight)}", "text/plain");
        Require(!Accept.PrefersHtml(input) || (html.Weight > 0 && html.Weight >= plain.Weight), "HTML is preferred and weighs less");

        bool prefersJson = Accept.PrefersJson(input);
        Require(!prefersJson || json.Weight > 0, "JSON is preferred and refused");
        Require(!(Accept.NamesHtml(input) && prefersJson && html.Weight > json.Weight), "HTML weighs more and JSON is preferred");
        return $"{json.Precision} {html.Precision} {prefersJson}";
    }
}
