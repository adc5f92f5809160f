namespace Millrace.Server.Doctor;

/// <summary>
/// What this host is, as far as it matters to a server: read once at the edge by <see cref="HostReader"/>, judged elsewhere.
/// </summary>
internal sealed record HostFacts
{
    /// <summary><c>uname -r</c>: 6.1.0-18-amd64.</summary>
    public required string KernelRelease { get; init; }

    /// <summary>x64, arm64.</summary>
    public required string Architecture { get; init; }

    public required EngineFacts Engine { get; init; }

    public required RootFacts Root { get; init; }

    /// <summary>Null where the server would stay who starts it.</summary>
    public UserFacts? User { get; init; }

    /// <summary>Reactors that would be started: the cores this process may use, a cgroup's quota rounded up.</summary>
    public required int Processors { get; init; }

    /// <summary>Those that a server would start.</summary>
    public required int Reactors { get; init; }

    /// <summary>Cores of the machine.</summary>
    public required int ProcessorsOnline { get; init; }

    /// <summary>What the cgroup lets all threads together use, in cores; null where it sets no limit.</summary>
    public double? QuotaCores { get; init; }

    /// <summary>RLIMIT_MEMLOCK in bytes; null is without limit, also for who may lock what they like (CAP_IPC_LOCK).</summary>
    public long? LockedBytesMax { get; init; }

    /// <summary>RLIMIT_NOFILE; null is without limit.</summary>
    public long? DescriptorsSoft { get; init; }

    public long? DescriptorsHard { get; init; }

    /// <summary>fs.inotify.max_user_watches; null where it cannot be read.</summary>
    public long? WatchesMax { get; init; }

    /// <summary>fs.inotify.max_user_instances.</summary>
    public long? WatchInstancesMax { get; init; }

    /// <summary>net.core.somaxconn.</summary>
    public long? BacklogMax { get; init; }

    /// <summary>net.ipv4.tcp_congestion_control.</summary>
    public string? CongestionControl { get; init; }

    /// <summary>What the server is told to use instead; null where it is told nothing.</summary>
    public string? ToldCongestionControl { get; init; }

    /// <summary>Why it could not, as cause and remedy; null where it could.</summary>
    public string? CongestionControlRefusal { get; init; }

    /// <summary>Whether the server is told to look at network devices itself.</summary>
    public bool PollsDevices { get; init; }

    /// <summary>Why it could not, as cause and remedy; null where it could.</summary>
    public string? BusyPollRefusal { get; init; }

    /// <summary>Whether the kernel has TLS in its sockets; null where nobody asked for HTTPS, or it cannot be tried.</summary>
    public bool? HasKernelTls { get; init; }
}
