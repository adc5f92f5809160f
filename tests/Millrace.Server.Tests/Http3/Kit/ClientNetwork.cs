using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>
/// A network namespace for clients, linked with the tests' own, in which the server's name is that of the link's other end. Its address can
/// be changed while clients run. Root only.
/// </summary>
internal sealed class ClientNetwork : IAsyncDisposable
{
    private const string HostsFolder = "/etc/netns";

    private static int Count;

    private readonly string _name;
    private readonly string _prefix;

    private ClientNetwork()
    {
        int number = Interlocked.Increment(ref Count);
        int place = (Environment.ProcessId * 8) + number;
        _name = $"mr{Environment.ProcessId}-{number}";
        _prefix = $"10.{100 + (place / 256 % 100)}.{place % 256}";
    }

    public string ServerAddress => $"{_prefix}.1";

    public static async Task<ClientNetwork> CreateAsync()
    {
        Tool.Require("ip");
        Assert.SkipUnless(Environment.IsPrivilegedProcess, "Only root makes a network namespace.");
        var network = new ClientNetwork();
        try
        {
            await network.MakeAsync();
            return network;
        }
        catch
        {
            await network.DisposeAsync();
            throw;
        }
    }

    /// <summary>Runs a program inside, to its end.</summary>
    public Task<ToolResult> RunAsync(params string[] command) =>
        Tool.RunAsync(Http3Site.Patience, "ip", ["netns", "exec", _name, .. command]);

    /// <summary>Another address is used from now on; the one of before is lost where <paramref name="isRemoved"/>.</summary>
    public async Task ChangeAddressAsync(bool isRemoved)
    {
        await IpAsync($"-n {_name} address add {_prefix}.3/32 dev path");
        await IpAsync($"-n {_name} route replace {ServerAddress} dev path src {_prefix}.3");
        if (isRemoved)
        {
            await IpAsync($"-n {_name} address del {_prefix}.2/32 dev path");
        }
    }

    public async ValueTask DisposeAsync()
    {
        // The link ends with it.
        await Tool.RunAsync("ip", "netns", "del", _name);
        string hosts = Path.Combine(HostsFolder, _name);
        if (Directory.Exists(hosts))
        {
            Directory.Delete(hosts, recursive: true);
        }
    }

    private static Task<string> IpAsync(string words) => Tool.RunToSuccessAsync(Http3Site.Patience, "ip", words.Split(' '));

    private async Task MakeAsync()
    {
        Directory.CreateDirectory(Path.Combine(HostsFolder, _name));
        await File.WriteAllTextAsync(Path.Combine(HostsFolder, _name, "hosts"), $"{ServerAddress} localhost\n");
        await IpAsync($"netns add {_name}");
        await IpAsync($"link add {_name} type veth peer name path netns {_name}");
        await IpAsync($"address add {ServerAddress}/24 dev {_name}");
        await IpAsync($"link set {_name} up");
        await IpAsync($"-n {_name} link set lo up");
        await IpAsync($"-n {_name} address add {_prefix}.2/32 dev path");
        await IpAsync($"-n {_name} link set path up");
        await IpAsync($"-n {_name} route add {ServerAddress} dev path src {_prefix}.2");
    }
}
