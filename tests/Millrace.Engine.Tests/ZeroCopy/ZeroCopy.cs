using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.ZeroCopy;

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyEndingTests : EndingTests
{
    internal override bool SendsCopies => false;

    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyFilterTests : FilterTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class ZeroCopyConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}
