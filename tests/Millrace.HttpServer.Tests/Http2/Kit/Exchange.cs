using System.Globalization;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests.Http2.Kit;

/// <summary>What has come on one stream so far.</summary>
internal sealed class Exchange
{
    public List<(string Name, string Value)> Fields { get; } = [];

    public MemoryStream Body { get; } = new();

    public bool HasHead => Fields.Count > 0;

    public bool IsWhole { get; set; }

    public Http2Error? Reset { get; set; }

    public bool IsOver => IsWhole || Reset is not null;

    /// <summary>The lengths of its DATA frames.</summary>
    public List<int> DataBytes { get; } = [];

    /// <summary>As a response of HTTP/1.1 would be: names in lower case, but found in any.</summary>
    public Response ToResponse()
    {
        Assert.Null(Reset);
        Assert.True(IsWhole, "The answer has no end");
        Assert.Equal(":status", Fields[0].Name);
        Assert.DoesNotContain(Fields[1..], static field => field.Name.StartsWith(':'));
        return new Response(int.Parse(Fields[0].Value, CultureInfo.InvariantCulture), "", Fields[1..], Body.ToArray());
    }

    public string Text => Encoding.Latin1.GetString(Body.ToArray());
}
