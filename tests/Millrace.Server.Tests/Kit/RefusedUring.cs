namespace Millrace.Server.Tests.Kit;

/// <summary>The published server where io_uring is refused by a seccomp filter.</summary>
internal static class RefusedUring
{
    private static readonly string Launcher = Path.Combine(Places.Repository, "tests", "Shared", "refuse-io-uring");

    /// <param name="filter">Options of the launcher: which calls are refused, and how.</param>
    /// <param name="arguments">The server's.</param>
    public static Task<ServerProcess> StartAsync(string[] filter, params string[] arguments) =>
        ServerProcess.StartAsync(Launcher, CommandLine(filter, arguments), lastLine: "Serving ");

    /// <summary>Runs it to its end.</summary>
    public static Task<ToolResult> RunAsync(string[] filter, params string[] arguments) =>
        Tool.RunAsync(Launcher, CommandLine(filter, arguments));

    private static string[] CommandLine(string[] filter, string[] arguments)
    {
        Tool.Require("gcc");
        return [.. filter, Publication.Program, .. arguments];
    }
}
