namespace Millrace.StaticFiles.Tests.Access;

/// <summary>
/// What the threads that hash passwords used of the processors. Unlike the time that went by, it does not depend on what else the
/// machine is busy with.
/// </summary>
internal sealed class HashingThreads
{
    private readonly Dictionary<string, long> _usedNs = Read();

    /// <summary>Since this was made, by threads that were there then and still are.</summary>
    public TimeSpan Used()
    {
        Dictionary<string, long> now = Read();
        return TimeSpan.FromMicroseconds(_usedNs.Sum(thread => Math.Max(now.GetValueOrDefault(thread.Key) - thread.Value, 0)) / 1000.0);
    }

    private static Dictionary<string, long> Read()
    {
        var usedNs = new Dictionary<string, long>();
        foreach (string task in Directory.GetDirectories("/proc/self/task"))
        {
            try
            {
                // proc(5): names are cut to 15 characters; the first field of schedstat is time on a processor.
                if (File.ReadAllText($"{task}/comm") == "millrace-passwo\n")
                {
                    usedNs[task] = long.Parse(File.ReadAllText($"{task}/schedstat").Split(' ')[0], null);
                }
            }
            catch (IOException)
            {
                // A thread of another test that ended meanwhile.
            }
        }

        return usedNs;
    }
}
