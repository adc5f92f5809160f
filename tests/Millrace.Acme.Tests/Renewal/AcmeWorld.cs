using Microsoft.Extensions.Logging;
using Millrace.Acme.Protocol;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>An authority, a folder, a clock, and managers on it. The clock moves only while every loop waits.</summary>
internal sealed class AcmeWorld : IAsyncDisposable
{
    /// <summary>When the clock starts.</summary>
    public static readonly DateTimeOffset Begin = new(2027, 1, 1, 0, 0, 0, TimeSpan.Zero);

    /// <summary>Of real time, for what takes milliseconds.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-acme-");
    private readonly List<RunningManager> _managers = [];

    private AcmeWorld(SettableClock clock, TestAuthority authority)
    {
        Clock = clock;
        Authority = authority;
        File.WriteAllText(RootsFile, authority.Issuer.Root.ExportCertificatePem());
    }

    public SettableClock Clock { get; }

    public TestAuthority Authority { get; }

    public RecordingLog Log { get; } = new();

    public DateTimeOffset Now => Clock.GetUtcNow();

    public string Store => Path.Combine(_folder.FullName, "acme");

    public string Folder => _folder.FullName;

    public AcmeOptions Options => new()
    {
        Certificates = [["example.org"]],
        Directory = Store,
        DirectoryUrl = Authority.DirectoryUrl,
        RootsFile = RootsFile,
    };

    private string RootsFile => Path.Combine(_folder.FullName, "roots.pem");

    public static async Task<AcmeWorld> CreateAsync()
    {
        var clock = new SettableClock(Begin);
        return new AcmeWorld(clock, await TestAuthority.StartAsync(clock));
    }

    /// <summary>A manager that is started.</summary>
    /// <param name="change">Changes the options.</param>
    /// <param name="answered">The challenges that it answers.</param>
    /// <param name="step">Called at each step; what it throws ends the manager as a kill does.</param>
    public RunningManager Start(
        Func<AcmeOptions, AcmeOptions>? change = null,
        AcmeChallengeTypes answered = AcmeChallengeTypes.Http01 | AcmeChallengeTypes.TlsAlpn01,
        Action<string>? step = null)
    {
        var running = new RunningManager(this, change is null ? Options : change(Options), answered, step);
        _managers.Add(running);
        Authority.Tables.Add(running.Manager.Challenges);
        running.Manager.Start();
        return running;
    }

    /// <summary>A manager that is started, and has obtained the only certificate of its options.</summary>
    public async Task<RunningManager> ObtainAsync(Func<AcmeOptions, AcmeOptions>? change = null, Action<string>? step = null)
    {
        RunningManager running = Start(change, step: step);
        await RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(1));
        return running;
    }

    /// <summary>Ends a manager: in order, or, after its step threw, as a kill.</summary>
    public async Task StopAsync(RunningManager running)
    {
        _managers.Remove(running);
        Authority.Tables.Remove(running.Manager.Challenges);
        await running.Manager.DisposeAsync().AsTask().WaitAsync(Patience);
    }

    /// <summary>Moves the clock from wait to wait until the condition holds while all wait; fails when the time is over.</summary>
    public async Task RunUntilAsync(Func<bool> condition, TimeSpan limit)
    {
        DateTimeOffset end = Now + limit;
        while (true)
        {
            await WhenIdleAsync();
            if (condition())
            {
                return;
            }

            Assert.True(Now < end, $"the condition does not hold after {limit}:\n{Log}");
            Step(end);
        }
    }

    /// <param name="time">For how long.</param>
    /// <param name="lateness">
    /// By how much waits of more than a minute end late, as on a machine that sleeps now and then: the loops look at the clock every
    /// ten minutes, and a year has many of these.
    /// </param>
    public async Task RunForAsync(TimeSpan time, TimeSpan lateness = default)
    {
        DateTimeOffset end = Now + time;
        await WhenIdleAsync();
        while (Now < end)
        {
            Step(end, lateness);
            await WhenIdleAsync();
        }
    }

    /// <summary>Moves the clock in one go to an hour before the next renewal, as a machine does that slept.</summary>
    public async Task SleepUntilRenewalAsync(RunningManager running)
    {
        await WhenIdleAsync();
        Clock.Advance(running.Only.NextRenewal!.Value - TimeSpan.FromHours(1) - Now);
        await WhenIdleAsync();
    }

    public async Task WhenIdleAsync()
    {
        foreach (RunningManager running in _managers)
        {
            await running.Manager.Waits.WhenIdleAsync().WaitAsync(Patience);
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (RunningManager running in _managers.ToArray())
        {
            await StopAsync(running);
        }

        await Authority.DisposeAsync();
        _folder.Delete(recursive: true);
    }

    private void Step(DateTimeOffset end, TimeSpan lateness = default)
    {
        DateTimeOffset next = _managers.Min(static running => running.Manager.Waits.NextWake) ?? end;
        next += next - Now > TimeSpan.FromMinutes(1) ? lateness : TimeSpan.Zero;
        next = next < end ? next : end;
        Clock.Advance(next > Now ? next - Now : TimeSpan.FromTicks(1));
    }
}

/// <summary>A manager under test.</summary>
internal sealed class RunningManager : IDisposable
{
    private readonly SemaphoreSlim _changed = new(0);

    public RunningManager(AcmeWorld world, AcmeOptions options, AcmeChallengeTypes answered, Action<string>? step) =>
        Manager = new AcmeManager(
            options,
            answered,
            () =>
            {
                _changed.Release();
                if (ThrowsWhenChanged)
                {
                    throw new InvalidOperationException("the callback");
                }
            },
            world.Log,
            world.Clock,
            (settings, clock, log) =>
            {
                AcmeClient client = AcmeClient.Create(settings, clock, log);
                return step is null ? client : new SteppedClient(client, step);
            },
            step);

    public AcmeManager Manager { get; }

    public bool ThrowsWhenChanged { get; set; }

    public AcmeCertificate Only => Manager.Certificates.Single();

    /// <summary>Waits for the callback, which is raised on the thread pool.</summary>
    public async Task ChangedAsync() => Assert.True(await _changed.WaitAsync(TimeSpan.FromSeconds(30)), "no certificate has changed");

    public void Dispose() => _changed.Dispose();

    public bool HasUnseenChanges => _changed.CurrentCount > 0;
}

/// <summary>Keeps the lines.</summary>
internal sealed class RecordingLog : ILoggerFactory, ILogger
{
    private readonly Lock _lock = new();
    private readonly List<(LogLevel Level, int Id, string Text)> _lines = [];

    public IReadOnlyList<(LogLevel Level, int Id, string Text)> Lines
    {
        get
        {
            lock (_lock)
            {
                return [.. _lines];
            }
        }
    }

    public bool Throws { get; set; }

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        if (Throws)
        {
            throw new InvalidOperationException("the log");
        }

        lock (_lock)
        {
            _lines.Add((logLevel, eventId.Id, formatter(state, exception) + (exception is null ? "" : $" {exception}")));
        }
    }

    public void Dispose()
    {
    }

    public override string ToString() => string.Join('\n', Lines.Select(static line => $"{line.Level} {line.Id}: {line.Text}"));
}
