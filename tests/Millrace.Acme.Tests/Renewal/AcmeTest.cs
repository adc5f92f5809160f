namespace Millrace.Acme.Tests.Renewal;

/// <summary>A test with a world of its own.</summary>
public abstract class AcmeTest : IAsyncLifetime
{
    /// <summary>Enough for an order of the authority, of scripted time.</summary>
    private protected static readonly TimeSpan Soon = TimeSpan.FromMinutes(1);

    /// <summary>Before its first test.</summary>
    private protected AcmeWorld World { get; private set; } = null!;

    public async ValueTask InitializeAsync() => World = await AcmeWorld.CreateAsync();

    public virtual async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        await World.DisposeAsync();
    }
}
