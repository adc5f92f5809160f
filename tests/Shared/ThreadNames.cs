namespace Millrace.Tests.Shared;

/// <summary>The threads of a process, as the kernel shows them.</summary>
internal static class ThreadNames
{
    /// <summary>Where the kernel tells of each, and its name. Those that end meanwhile, as the compiler's do, are left out.</summary>
    public static IReadOnlyList<(string Folder, string Name)> Of(int process)
    {
        List<(string Folder, string Name)> threads = [];
        foreach (string folder in Directory.GetDirectories($"/proc/{process}/task"))
        {
            try
            {
                threads.Add((folder, File.ReadAllText(Path.Combine(folder, "comm")).TrimEnd('\n')));
            }
            catch (IOException)
            {
                // It has ended.
            }
        }

        return threads;
    }
}
