using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Polling;

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedEndingTests : EndingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class SharedConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.PolledByOne();
}
