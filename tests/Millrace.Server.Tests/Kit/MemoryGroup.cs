using System.Globalization;

namespace Millrace.Server.Tests.Kit;

/// <summary>A memory cgroup of its own, version 1 or 2, removed at the end. Beyond its limit the kernel kills.</summary>
internal sealed class MemoryGroup : IDisposable
{
    private const string OfVersion1 = "/sys/fs/cgroup/memory";
    private const string OfVersion2 = "/sys/fs/cgroup";

    private static int Made;

    private readonly bool _isVersion1 = Directory.Exists(OfVersion1);
    private readonly string _path;

    private MemoryGroup(long bytesMax)
    {
        string name = $"millrace-{Environment.ProcessId}-{Interlocked.Increment(ref Made)}";
        _path = Path.Combine(_isVersion1 ? OfVersion1 : OfVersion2, name);
        try
        {
            Directory.CreateDirectory(_path);
            string limit = _isVersion1 ? "memory.limit_in_bytes" : "memory.max";
            File.WriteAllText(Path.Combine(_path, limit), bytesMax.ToString(CultureInfo.InvariantCulture));
            if (!_isVersion1)
            {
                File.WriteAllText(Path.Combine(_path, "memory.swap.max"), "0");
            }
        }
        catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
        {
            Assert.Skip($"No memory cgroup can be made here ({refused.Message}): it takes root, and the controller.");
        }
    }

    public static MemoryGroup Create(long bytesMax) => new(bytesMax);

    /// <summary>Processes that the kernel has killed in it.</summary>
    public int Killed => File.ReadLines(Path.Combine(_path, _isVersion1 ? "memory.oom_control" : "memory.events"))
        .Where(static line => line.StartsWith("oom_kill ", StringComparison.Ordinal))
        .Sum(static line => int.Parse(line.Split(' ')[1], CultureInfo.InvariantCulture));

    /// <summary>The most that was in use.</summary>
    public long PeakBytes => long.Parse(
        File.ReadAllText(Path.Combine(_path, _isVersion1 ? "memory.max_usage_in_bytes" : "memory.peak")), CultureInfo.InvariantCulture);

    /// <summary>Starts the published server in it.</summary>
    public Task<ServerProcess> StartAsync(params string[] arguments) => ServerProcess.StartAsync(
        "sh",
        ["-c", $"echo $$ > {_path}/cgroup.procs && exec \"$@\"", "sh", Publication.Program, .. arguments, .. Publication.BackendFlags],
        lastLine: "Serving ");

    public void Dispose()
    {
        if (Directory.Exists(_path))
        {
            Directory.Delete(_path);
        }
    }
}
