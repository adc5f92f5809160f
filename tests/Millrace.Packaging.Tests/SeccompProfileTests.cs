using System.Text.Json.Nodes;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

public class SeccompProfileTests
{
    private const string Default = """{ "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{ "names": ["read"], "action": "SCMP_ACT_ALLOW" }] }""";

    [Fact]
    public async Task The_profile_is_the_runtimes_own_with_three_calls_more()
    {
        Tool.Require("jq");
        using var folder = new TempFolder();
        await File.WriteAllTextAsync(folder.PathOf("default.json"), Default);

        string made = await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(30), Path.Combine(Places.Repository, "deploy", "container", "seccomp"), folder.PathOf("default.json"));

        JsonNode expected = JsonNode.Parse(Default)!;
        expected["syscalls"]!.AsArray().Add(JsonNode.Parse(
            """{ "names": ["io_uring_setup", "io_uring_enter", "io_uring_register"], "action": "SCMP_ACT_ALLOW" }"""));
        Assert.True(JsonNode.DeepEquals(expected, JsonNode.Parse(made)), made);
    }
}
