using System.Globalization;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Cost.Tests.Kit;

/// <summary>A thread of a server, as the kernel shows it.</summary>
internal sealed record ServerThread(string Folder, int Id, string Name)
{
    /// <summary>Whether it sleeps, as a reactor does in its one wait only, and while nothing has come.</summary>
    public bool IsAsleep
    {
        get
        {
            // The name stands in brackets and may hold anything.
            string line = File.ReadAllText(Path.Combine(Folder, "stat"));
            return line[line.LastIndexOf(')') + 2] == 'S';
        }
    }

    public bool IsTraced => !File.ReadAllText(Path.Combine(Folder, "status")).Contains("TracerPid:\t0\n", StringComparison.Ordinal);

    public long RanNs => long.Parse(File.ReadAllText(Path.Combine(Folder, "schedstat")).Split(' ')[0], CultureInfo.InvariantCulture);
}

internal static class ServerThreads
{
    public static IReadOnlyList<ServerThread> Of(ServerProcess server) => [
        .. from thread in ThreadNames.Of(server.Id)
           let id = int.Parse(Path.GetFileName(thread.Folder), CultureInfo.InvariantCulture)
           select new ServerThread(thread.Folder, id, thread.Name)];

    /// <summary>The reactor of a server that has one.</summary>
    public static ServerThread Reactor(ServerProcess server) => Of(server).Single(static thread => thread.Name == "millrace-0");
}
