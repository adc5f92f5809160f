using System.Text;
using Xunit.Sdk;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>The fixture's files as one front serves them. A request without a connection of its own gets a new one.</summary>
public sealed class Site : IXunitSerializable
{
    private string[] _flags = [];
    private string _folder = "/";

    public Site() => Front = "";

    internal Site(string front) => Front = front;

    internal string Front { get; private set; }

    internal static Fixture Files => Run.Current.Files;

    void IXunitSerializable.Deserialize(IXunitSerializationInfo info) => Front = info.GetValue<string>(nameof(Front)) ?? "";

    void IXunitSerializable.Serialize(IXunitSerializationInfo info) => info.AddValue(nameof(Front), Front);

    public override string ToString() => Front;

    /// <summary>The same files served by Millrace with these flags. Other servers have none of them.</summary>
    internal Site With(params string[] flags) => WithFolder("/", flags);

    /// <summary>A folder below the root served by Millrace as a site of its own.</summary>
    internal Site WithFolder(string folder, params string[] flags)
    {
        Assert.SkipWhen(Fronts.IsForeign, "A flag of Millrace.");
        return new Site(Front) { _flags = flags, _folder = folder };
    }

    internal async Task<Wire> ConnectAsync(int receiveBufferBytes = 0) =>
        await Wire.ConnectAsync(await Run.Current.EndPointAsync(Front, _folder, _flags), receiveBufferBytes, Front);

    internal async Task<Response> AskAsync(string method, string target, params string[] fields) =>
        await SendAsync(Request(method, target, fields), method);

    internal Task<Response> GetAsync(string target, params string[] fields) => AskAsync("GET", target, fields);

    internal Task<Response> HeadAsync(string target, params string[] fields) => AskAsync("HEAD", target, fields);

    /// <summary>Sends these bytes (Latin-1) and reads a response.</summary>
    internal async Task<Response> SendAsync(string bytes, string method = "GET")
    {
        using Wire wire = await ConnectAsync();
        await wire.SendAsync(bytes);
        return await wire.ReadResponseAsync(method);
    }

    /// <summary>Demands that these bytes are answered with one of the statuses, and that the connection ends after it.</summary>
    internal async Task RefusesAsync(string bytes, params int[] statuses)
    {
        using Wire wire = await ConnectAsync();
        await wire.SendAsync(bytes);
        (await wire.ReadResponseAsync()).Is(statuses);
        await wire.EndsAsync();
    }

    internal static string Request(string method, string target, params string[] fields)
    {
        var text = new StringBuilder($"{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
        foreach (string field in fields)
        {
            text.Append(field).Append("\r\n");
        }

        return text.Append("\r\n").ToString();
    }
}
