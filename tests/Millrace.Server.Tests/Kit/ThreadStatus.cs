namespace Millrace.Server.Tests.Kit;

/// <summary>What the kernel says of a server's threads.</summary>
internal static class ThreadStatus
{
    /// <summary>The status of each (proc_pid_status(5)), without those that end meanwhile.</summary>
    public static IEnumerable<string> OfEach(ServerProcess server) =>
        Directory.GetDirectories($"/proc/{server.Id}/task").Select(static folder => TryRead(Path.Combine(folder, "status"))).OfType<string>();

    private static string? TryRead(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (IOException)
        {
            return null;
        }
    }
}
