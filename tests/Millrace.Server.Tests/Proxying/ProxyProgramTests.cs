using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>The published program in front of applications.</summary>
public class ProxyProgramTests
{
    [Fact]
    public async Task Paths_go_to_applications_and_the_others_to_files_in_both_protocols()
    {
        using var application = new EchoUpstream("one");
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--proxy", $"/api/* {application.Target}",
            "--proxy", $"/v1/* {application.Target}/app/:splat host=upstream", "--header", "/api/*=X-Frame-Options: DENY");

        WireResponse api = Wire.Get(server.Url, "/api/a%2Fb?x=[1]", "X-Forwarded-For: 192.0.2.9", "Connection: X-Hop", "X-Hop: 1");
        WireResponse mapped = Wire.Get(server.Url, "/v1/x/y");
        WireResponse file = Wire.Get(server.Url, "/");
        using var http2 = new HttpClient { DefaultRequestVersion = HttpVersion.Version20, DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact };
        string over2 = await http2.GetStringAsync(new Uri(server.Url, "/api/two"), TestContext.Current.CancellationToken);

        string seen = Encoding.Latin1.GetString(api.Body);
        Assert.Equal((200, "one", "DENY"), (api.Status, api.Field("X-From"), api.Field("X-Frame-Options")));
        Assert.StartsWith("one\nGET /api/a%2Fb?x=[1] HTTP/1.1\r\n", seen, StringComparison.Ordinal);
        Assert.Contains("X-Forwarded-For: 127.0.0.1\r\n", seen, StringComparison.Ordinal);
        Assert.Contains("Host: millrace\r\n", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("X-Hop", seen, StringComparison.Ordinal);
        Assert.Contains("GET /app/x/y HTTP/1.1\r\n", Encoding.Latin1.GetString(mapped.Body), StringComparison.Ordinal);
        Assert.Contains($"Host: {new Uri(application.Target).Authority}\r\n", Encoding.Latin1.GetString(mapped.Body), StringComparison.Ordinal);
        Assert.Null(file.Field("X-From"));
        Assert.StartsWith("one\nGET /api/two HTTP/1.1\r\n", over2, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_reload_sends_requests_to_another_application()
    {
        using var one = new EchoUpstream("one");
        using var two = new EchoUpstream("two");
        string Text(string rules, string more = "") =>
            $$"""{ "root": "{{Places.SampleSite}}", "listen": "127.0.0.1:0", "proxy": {{rules}}{{more}} }""";
        await using ConfiguredServer server =
            await ConfiguredServer.StartAsync(Text($$"""{ "path": "/api/*", "to": "{{one.Target}}", "host": "upstream" }"""));
        Uri url = server.Process.Url;
        using Wire open = Wire.Open(url);
        Assert.Equal("one", open.Ask("/api/x").Field("X-From"));

        await server.ReloadAsync(Text($$"""["/api/* {{two.Target}}", "/*! {{one.Target}}"]"""));
        Assert.Equal("two", open.Ask("/api/x").Field("X-From"));
        Assert.Equal("one", open.Ask("/nothing").Field("X-From"));
        Assert.Null(open.Ask("/").Field("X-From"));

        await server.RefuseAsync(Text("\"/api/* ftp://a\""));
        Assert.Equal("two", open.Ask("/api/x").Field("X-From"));
        await server.ReloadAsync(Text("[]"));
        Assert.Equal(404, open.Ask("/api/x").Status);
        open.Dispose();
        Assert.DoesNotContain("unexpectedly", await server.StopAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_deployed_file_leads_to_applications_only_where_the_operator_allows_it()
    {
        using var application = new EchoUpstream("one");
        using var site = new TempFolder();
        site.WriteText("_redirects", $"/api/* {application.Target}/:splat 200\n");
        await using (ServerProcess closed = await ServerProcess.StartAsync(site.Root, "--listen", "127.0.0.1:0"))
        {
            Assert.Equal(404, Wire.Get(closed.Url, "/api/x").Status);
            await closed.AwaitErrorAsync($"--proxy-allow {application.Target}");
        }

        await using ServerProcess open = await ServerProcess.StartAsync(
            site.Root, "--listen", "127.0.0.1:0", "--proxy-allow", application.Target);
        Assert.StartsWith("one\nGET /x?q HTTP/1.1", Encoding.Latin1.GetString(Wire.Get(open.Url, "/api/x?q").Body), StringComparison.Ordinal);

        // A change of the file makes its rules again.
        site.WriteText("_redirects", $"/api/* {application.Target}/v2/:splat 200\n");
        await Wire.AwaitAsync(open.Url, "/api/x", static response => Encoding.Latin1.GetString(response.Body).Contains(" /v2/x "));
    }

    [Fact]
    public async Task Access_rules_hold_for_files_and_applications()
    {
        using var application = new EchoUpstream("one");
        using var site = new TempFolder();
        site.WriteText("a.txt", "a");
        site.WriteText("users", "ann:$5$rounds=1000$saltstring$0T4Zlr9Tn.U.xa5W7ZBV8SFuV2rm3q.QpZ2lxWRjeG4\n");
        using var folder = new TempFolder();
        File.Move(site.PathOf("users"), folder.PathOf("users"));
        await using ServerProcess server = await ServerProcess.StartAsync(
            site.Root, "--listen", "127.0.0.1:0", "--proxy", $"/api/* {application.Target}", "--deny", "/api/admin/*=127.0.0.0/8",
            "--auth", $"/api/staff/*={folder.PathOf("users")}", "--allow", "/a.txt=10.0.0.0/8", "--trusted-proxy", "127.0.0.1");

        Assert.Equal(403, Wire.Get(server.Url, "/api/admin/x").Status);
        Assert.Equal(403, Wire.Get(server.Url, "/API/%61dmin").Status);
        Assert.Equal(403, Wire.Get(server.Url, "/api/x/%2e%2e/admin/x").Status);
        Assert.Equal(200, Wire.Get(server.Url, "/api/admin/x", "X-Forwarded-For: 192.0.2.1").Status);
        Assert.Equal(401, Wire.Get(server.Url, "/api/staff/x").Status);
        Assert.Equal(403, Wire.Get(server.Url, "/a.txt").Status);
        Assert.Equal(200, Wire.Get(server.Url, "/a.txt", "X-Forwarded-For: 10.1.2.3").Status);
        using var http2 = new HttpClient { DefaultRequestVersion = HttpVersion.Version20, DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact };
        using HttpResponseMessage denied = await http2.GetAsync(new Uri(server.Url, "/api/admin/x"), TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.Forbidden, denied.StatusCode);
    }

    [Fact]
    public async Task Maintenance_begins_and_ends_with_a_file()
    {
        using var application = new EchoUpstream("one");
        using var folder = new TempFolder();
        string file = folder.PathOf("stop");
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--proxy", $"/api/* {application.Target}",
            "--maintenance", file);
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);

        File.WriteAllText(file, "<!doctype html><h1>Back soon</h1>");
        await Wire.AwaitAsync(server.Url, "/", static response => response.Status == 503);
        WireResponse stopped = Wire.Get(server.Url, "/api/x");
        using var client = new HttpClient();
        using HttpResponseMessage admin = await client.GetAsync(new Uri(server.Admin, "/metrics"), TestContext.Current.CancellationToken);

        Assert.Equal((503, "60", "no-cache"), (stopped.Status, stopped.Field("Retry-After"), stopped.Field("Cache-Control")));
        Assert.Equal("<!doctype html><h1>Back soon</h1>", Encoding.UTF8.GetString(stopped.Body));
        Assert.Equal(HttpStatusCode.OK, admin.StatusCode);

        File.WriteAllText(file, "deploying, ann");
        await Wire.AwaitAsync(server.Url, "/", static response => !Encoding.UTF8.GetString(response.Body).Contains("Back soon"));
        Assert.DoesNotContain("ann", Encoding.UTF8.GetString(Wire.Get(server.Url, "/").Body), StringComparison.Ordinal);
        File.Delete(file);
        await Wire.AwaitAsync(server.Url, "/", static response => response.Status == 200);
        await server.AwaitErrorAsync("has ended.");
    }

    [Fact]
    public async Task Check_and_doctor_say_which_applications_do_not_answer()
    {
        using var application = new EchoUpstream("one");
        using var unused = new TcpListener(IPAddress.Loopback, 0);
        unused.Start();
        string gone = $"http://{unused.LocalEndpoint}";
        unused.Stop();

        string[] rules =
            ["--proxy", $"/a/* {application.Target}", "--proxy", $"/b/* {gone}", "--proxy", "/c/* http://no.invalid", "--listen", "127.0.0.1:0"];
        ToolResult check = await Tool.RunAsync(Publication.Program, ["check", Places.SampleSite, .. rules]);
        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", Places.SampleSite, .. rules]);

        Assert.Equal(0, check.ExitCode);
        Assert.Contains($"Would send requests to {application.Target}\n", check.Output, StringComparison.Ordinal);
        Assert.Contains($"warning: {gone} cannot be connected to: nothing listens there.", check.Error, StringComparison.Ordinal);
        Assert.Contains(
            "warning: http://no.invalid:80 cannot be connected to: the name no.invalid does not resolve here.", check.Error, StringComparison.Ordinal);
        Assert.DoesNotContain($"warning: {application.Target}", check.Error, StringComparison.Ordinal);
        Assert.Contains($"{application.Target} accepts connections", doctor.Output, StringComparison.Ordinal);
        Assert.Contains($"{gone} cannot be connected to (nothing listens there)", doctor.Output, StringComparison.Ordinal);
    }
}
